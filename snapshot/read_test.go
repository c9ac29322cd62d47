package snapshot_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"tidegate.io/autoscaler/snapshot"
)

func read(text string) (*snapshot.Snapshot, error) {
	b := snapshot.NewBuilder()
	if err := b.Read(strings.NewReader(text), "dump"); err != nil {
		return nil, err
	}
	return b.Build()
}

// podNames lists the pods of a snapshot as namespace/name.
func podNames(s *snapshot.Snapshot) []string {
	var out []string
	for _, p := range s.Pods() {
		out = append(out, p.Namespace+"/"+p.Name)
	}
	return out
}

func warnings(s *snapshot.Snapshot) []string {
	var out []string
	for _, w := range s.Warnings() {
		out = append(out, w.String())
	}
	return out
}

const (
	yamlA = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: x}\n"
	yamlB = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: b\n  namespace: x\n"
	jsonA = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"x"}}`
	jsonB = `{"kind":"Pod","metadata":{"namespace":"x","name":"b"},"apiVersion":"v1"}`
)

func TestReadFormats(t *testing.T) {
	wantDigest := func() string {
		s, err := read(yamlA + "---\n" + yamlB)
		require.NoError(t, err)
		return s.Digest()
	}()
	const bareItems = `"items":[{"metadata":{"name":"a","namespace":"x"}},{"metadata":{"name":"b","namespace":"x"}}]`
	tests := map[string]string{
		"documents":                     "# hello\n---\n" + yamlA + "---\n" + yamlB + "---\n# nothing\n---\n\n...\n",
		"document markers with text":    "%YAML 1.1\n--- # first\n" + yamlA + "...\n--- \n" + yamlB,
		"flow document on the marker":   "--- {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: x}}\n---\n" + yamlB,
		"byte order mark and CRLF":      "\xef\xbb\xbf" + strings.ReplaceAll(yamlA+"---\n"+yamlB, "\n", "\r\n"),
		"no newline at the end":         yamlB + "---\n" + strings.TrimSuffix(yamlA, "\n"),
		"JSON lines":                    jsonA + "\n" + jsonB + "\n",
		"concatenated JSON":             " \n" + jsonA + jsonB,
		"JSON documents":                jsonA + "\n---\n" + jsonB + "\n",
		"JSON, then YAML":               jsonA + "\n---\n" + yamlB,
		"YAML, then JSON":               yamlB + "---\n" + jsonA,
		"null documents":                "null\n---\n" + yamlA + "---\n~\n---\n" + yamlB,
		"kubectl JSON list":             `{"apiVersion":"v1","items":[` + jsonA + "," + jsonB + `],"kind":"List","metadata":{"resourceVersion":""}}`,
		"API server JSON list":          `{"kind":"PodList","apiVersion":"v1","metadata":{},` + bareItems + `}`,
		"typed JSON list, kind last":    `{` + bareItems + `,"apiVersion":"v1","kind":"PodList"}`,
		"two JSON lists and an empty":   `{"kind":"List","apiVersion":"v1","items":[` + jsonA + `]}{"kind":"List","apiVersion":"v1","items":null} {"kind":"PodList","apiVersion":"v1","items":[` + jsonB + `]}`,
		"kubectl YAML list":             "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n    namespace: x\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: b\n    namespace: x\nkind: List\nmetadata:\n  resourceVersion: \"\"\n",
		"indented typed YAML list":      "kind: PodList\napiVersion: v1\nitems:\n\n  # first\n  - metadata:\n      name: a\n      namespace: x\n\n  -\n    metadata: {name: b, namespace: x}\n",
		"typed YAML list, kind last":    "apiVersion: v1\nitems:\n- metadata:\n    name: a\n    namespace: x\n- metadata:\n    name: b\n    namespace: x\nkind: PodList\n",
		"YAML list with shared anchors": "kind: PodList\napiVersion: v1\nitems:\n- metadata: {name: a, namespace: &ns x}\n- metadata: {name: b, namespace: *ns}\n",
		"flow YAML list":                "kind: List\napiVersion: v1\nitems: [" + jsonA + ", " + jsonB + "]\n",
		"what is not looked at":         "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: x\n  selfLink: /a\n  managedFields:\n  - manager: kubectl\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      {\"a\":\"b\"}\nspec:\n  securityContext: {runAsUser: 1}\nstatus:\n  hostIP: 10.0.0.1\n---\n" + yamlB,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := read(text)
			require.NoError(t, err)
			require.Equal(t, []string{"x/a", "x/b"}, podNames(s))
			require.Empty(t, warnings(s))
			require.Equal(t, wantDigest, s.Digest())
		})
	}
}

func TestReadNothing(t *testing.T) {
	for _, text := range []string{"", "\n \n", "# only a comment", "---\n---\n", "\xef\xbb\xbf", "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[]}", "kind: List\napiVersion: v1\nitems: []\n", "kind: List\napiVersion: v1\nitems:\n"} {
		s, err := read(text)
		require.NoError(t, err, text)
		require.Empty(t, s.Pods())
		require.Empty(t, warnings(s), text)
	}
}

func TestReadErrors(t *testing.T) {
	pod := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: x\nspec:\n" + spec
	}
	tests := map[string]struct {
		text string
		want string
	}{
		"quantity": {
			yamlB + "---\n" + pod("  containers:\n  - name: m\n    resources:\n      requests:\n        cpu: 8x\n"),
			`dump: document 2 (line 7): Pod x/a: spec.containers[0].resources.requests[cpu]: "8x" is not a quantity`,
		},
		"exponent": {
			pod("  overhead: {cpu: \"1e-2147483647\"}\n"),
			`dump: document 1 (line 1): Pod x/a: spec.overhead[cpu]: "1e-2147483647" has too large an exponent`,
		},
		"negative request": {
			pod("  initContainers:\n  - name: m\n    resources: {requests: {nvidia.com/gpu: -1}}\n"),
			"dump: document 1 (line 1): Pod x/a: spec.initContainers[0].resources.requests[nvidia.com/gpu]: must not be negative, is -1",
		},
		"negative allocatable": {
			"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: -2}}\n",
			"dump: document 1 (line 1): Node n1: status.allocatable[cpu]: must not be negative, is -2",
		},
		"negative in a template": {
			"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: -1m}}}]}}}\n",
			"dump: document 1 (line 1): DaemonSet default/d: spec.template.spec.containers[0].resources.requests[cpu]: must not be negative, is -1m",
		},
		"several wrong types": {
			pod("  nodeName: [1]\n  priority: high\n  hostNetwork: maybe\n  nodeSelector: {a: 1}\n  containers: {}\n"),
			"dump: document 1 (line 1): Pod x/a: spec.containers: must be a list, is an object\n" +
				"dump: document 1 (line 1): Pod x/a: spec.nodeSelector[a]: must be a string, is 1\n" +
				"dump: document 1 (line 1): Pod x/a: spec.nodeName: must be a string, is a list\n" +
				"dump: document 1 (line 1): Pod x/a: spec.hostNetwork: must be true or false, is \"maybe\"\n" +
				"dump: document 1 (line 1): Pod x/a: spec.priority: must be a whole number of 32 bits, is \"high\"",
		},
		"number too large": {
			pod("  priority: 3000000000\n"),
			"dump: document 1 (line 1): Pod x/a: spec.priority: must be a whole number of 32 bits, is 3000000000",
		},
		"time": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: x, creationTimestamp: yesterday}\n",
			`dump: document 1 (line 1): Pod x/a: metadata.creationTimestamp: parsing time "yesterday"`,
		},
		"no name":           {"apiVersion: v1\nkind: Pod\nmetadata: {namespace: x}\n", "dump: document 1 (line 1): Pod x/: metadata.name: is required"},
		"no kind":           {"apiVersion: v1\nmetadata: {name: a}\n", "dump: document 1 (line 1): object a: kind: is required"},
		"no apiVersion":     {"kind: Pod\nmetadata: {name: a}\n", "dump: document 1 (line 1): Pod a: apiVersion: is required"},
		"bad apiVersion":    {"apiVersion: a/b/c\nkind: Pod\nmetadata: {name: a}\n", `apiVersion: "a/b/c" is not a group and a version`},
		"metadata of a CRD": {"apiVersion: kueue.x-k8s.io/v1beta1\nkind: Workload\nmetadata: {name: a, labels: {x: 1}}\n", "Workload.kueue.x-k8s.io a: metadata.labels[x]: must be a string, is 1"},
		"broken YAML":       {yamlA + "---\nkind: [\n", "dump: document 2 (line 5): broken YAML: "},
		"repeated key":      {"apiVersion: v1\nkind: Pod\nkind: Node\nmetadata: {name: a}\n", `dump: document 1 (line 1): broken YAML: `},
		"repeated items": {
			"kind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: a}}\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: b}}\n",
			"dump: document 1 (line 1): broken YAML: ",
		},
		"repeated items in another way": {
			"kind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: a}}\n\"items\": []\n",
			"dump: document 1 (line 1): broken YAML: ",
		},
		"repeated field in JSON": {
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"x"},"spec":{"nodeName":"a","nodeName":"b"}}`,
			"dump: document 1 (line 1): Pod x/a: spec.nodeName: is there twice",
		},
		"time at the end of time": {
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","creationTimestamp":"9999-12-31T23:59:59-23:00"}}`,
			"dump: document 1 (line 1): Node n1: a time is out of range: ",
		},
		"YAML scalar":   {"hello\n", "dump: document 1 (line 1): must be an object"},
		"YAML sequence": {"- a\n- b\n", "dump: document 1 (line 1): must be an object"},
		"JSON array":    {"[" + jsonA + "]", "dump: document 1 (line 1): must be an object, is a list"},
		"broken JSON":   {jsonA + "\n{\"kind\": }\n", "dump: document 2 (line 2): broken JSON: "},
		"cut JSON":      {jsonA + "\n{\"kind\": \"Po", "dump: document 2 (line 2): broken JSON: the input ends in the middle of a value"},
		"JSON item": {
			"{\"apiVersion\":\"v1\",\n\"items\":[\n" + jsonB + ",\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"x\"},\"spec\":{\"overhead\":{\"cpu\":\"?\"}}}\n],\"kind\":\"List\"}",
			`dump: document 1, item 2 (line 4): Pod x/a: spec.overhead[cpu]: "?" is not a quantity`,
		},
		"YAML item": {
			"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(yamlB), "\n", "\n  ") + "\n- apiVersion: v1\n  kind: Pod\n",
			"dump: document 1, item 2 (line 9): Pod: metadata.name: is required",
		},
		"items of no list":    {`{"apiVersion":"v1","items":[` + jsonA + `],"kind":"Pod","metadata":{"name":"a"}}`, "kind: has items, so it must be List or end in List"},
		"items that are none": {`{"apiVersion":"v1","items":[1],"kind":"List"}`, "dump: document 1 (line 1): items: must be a list of objects"},
		"items, not a list":   {`{"apiVersion":"v1","items":{"a":[{}]},"kind":"List"}`, "dump: document 1 (line 1): items: must be a list of objects"},
		"list in a list":      {`{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"PodList","items":[]}],"kind":"List"}`, "dump: document 1, item 1 (line 1): a list inside a list is not read"},
		"same name, not same": {
			yamlA + "---\n" + yamlA + "spec: {nodeName: n1}\n",
			"dump: document 2 (line 5): Pod x/a: differs from the object of that name in dump: document 1 (line 1)",
		},
		"two errors": {
			"apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: Node\n",
			"dump: document 1 (line 1): Pod: metadata.name: is required\ndump: document 2 (line 4): Node: metadata.name: is required",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := read(tc.text)
			require.Nil(t, s)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestReadStopsAfterTwentyErrors(t *testing.T) {
	for name, sep := range map[string]string{"YAML": "---\n", "JSON": ""} {
		t.Run(name, func(t *testing.T) {
			text := "apiVersion: v1\nkind: Pod\n"
			if sep == "" {
				text = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}\n"
			}
			_, err := read(strings.Repeat(text+sep, 30))
			require.Error(t, err)
			lines := strings.Split(err.Error(), "\n")
			require.Len(t, lines, 21)
			require.Equal(t, "more errors follow; these are the first 20", lines[20])
		})
	}
}

func TestBuildRefusesAfterAFailedRead(t *testing.T) {
	b := snapshot.NewBuilder()
	require.Error(t, b.Read(strings.NewReader("kind: Pod\n"), "first"))
	require.NoError(t, b.Read(strings.NewReader(yamlA), "second"))
	s, err := b.Build()
	require.Nil(t, s)
	require.ErrorContains(t, err, "first: document 1")
}

func TestReadReportsTheReader(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, text := range []string{"", yamlA, jsonA, `{"kind":`} {
		b := snapshot.NewBuilder()
		err := b.Read(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "dump")
		require.ErrorIs(t, err, broken, text)
	}
	b := snapshot.NewBuilder()
	require.NoError(t, b.Read(iotest.OneByteReader(strings.NewReader(yamlA)), "dump"))
	require.NoError(t, b.Read(iotest.OneByteReader(strings.NewReader(jsonB)), "dump"))
}

// A YAML list beyond the size that is held whole is read item by item; it must come out as
// the same objects in JSON do.
func TestReadLargeYAMLList(t *testing.T) {
	digests := map[string]string{}
	for _, format := range []string{"json-list", "yaml-list", "yaml-documents"} {
		b := snapshot.NewBuilder()
		require.NoError(t, b.Read(newDump(t, format, 20, 2000), "dump"))
		s, err := b.Build()
		require.NoError(t, err)
		require.Len(t, s.Pods(), 2000)
		digests[format] = s.Digest()
	}
	require.Empty(t, cmp.Diff(digests["json-list"], digests["yaml-list"]))
	require.Empty(t, cmp.Diff(digests["json-list"], digests["yaml-documents"]))

	large := func(tail string) error {
		list := newDump(t, "yaml-list", 20, 2000)
		return snapshot.NewBuilder().Read(io.MultiReader(list, strings.NewReader(tail)), "dump")
	}
	require.ErrorContains(t, large("items:\n- a: b\n"), "is neither an item nor a field of the list")
	require.ErrorContains(t, large("\"items\": []\n"), "broken YAML: key \"items\" is there twice")
	require.ErrorContains(t, large("? [\n"), "broken YAML")
	var bad strings.Builder
	bad.WriteString("kind: List\napiVersion: v1\nitems:\n")
	for i := range 60000 {
		fmt.Fprintf(&bad, "- apiVersion: v1\n  kind: Pod\n  metadata: {name: pod-%d, labels: {long: a-value-to-make-it-long}}\n", i)
	}
	bad.WriteString("- apiVersion: v1\n  kind: Pod\n  metadata: [\n")
	_, err := read(bad.String())
	require.ErrorContains(t, err, "dump: document 1, item 60001 (line 180004): broken YAML: ")
}
