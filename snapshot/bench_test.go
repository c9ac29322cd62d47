package snapshot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"tidegate.io/autoscaler/snapshot"
)

// A pod as kubectl prints it, with what a real one carries along.
const benchPod = `apiVersion: v1
kind: Pod
metadata:
  annotations:
    tidegate.io/expected-duration: 3h
  creationTimestamp: "2029-12-31T11:00:00Z"
  generateName: job-%[2]d-
  labels:
    batch.kubernetes.io/job-completion-index: "0"
    batch.kubernetes.io/job-name: job-%[2]d
    class: deferrable
  name: pod-%[1]d
  namespace: team-%[3]d
  ownerReferences:
  - apiVersion: batch/v1
    blockOwnerDeletion: true
    controller: true
    kind: Job
    name: job-%[2]d
    uid: 2f1c9a44-5d5f-4d3a-9b1e-%012[2]d
  resourceVersion: "88%[1]d"
  uid: 7b3e1c22-0000-4d3a-9b1e-%012[1]d
spec:
  containers:
  - args:
    - --model=llama
    - --batch-size=32
    command:
    - python
    - train.py
    env:
    - name: NCCL_DEBUG
      value: INFO
    - name: POD_NAME
      valueFrom:
        fieldRef:
          apiVersion: v1
          fieldPath: metadata.name
    image: registry.example.com/research/train:1.4.2
    imagePullPolicy: IfNotPresent
    livenessProbe:
      failureThreshold: 3
      httpGet:
        path: /healthz
        port: 8080
        scheme: HTTP
      periodSeconds: 10
      successThreshold: 1
      timeoutSeconds: 1
    name: main
    ports:
    - containerPort: 8080
      protocol: TCP
    resources:
      limits:
        memory: 64Gi
        nvidia.com/gpu: "8"
      requests:
        cpu: 15500m
        memory: 64Gi
        nvidia.com/gpu: "8"
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    volumeMounts:
    - mountPath: /data
      name: data
    - mountPath: /var/run/secrets/kubernetes.io/serviceaccount
      name: kube-api-access-x7k2p
      readOnly: true
  dnsPolicy: ClusterFirst
  enableServiceLinks: true
  nodeName: node-%[4]d
  nodeSelector:
    accelerator: h100
  preemptionPolicy: PreemptLowerPriority
  priority: 0
  restartPolicy: Never
  schedulerName: default-scheduler
  securityContext: {}
  serviceAccount: default
  serviceAccountName: default
  terminationGracePeriodSeconds: 30
  tolerations:
  - effect: NoSchedule
    key: nvidia.com/gpu
    operator: Exists
  - effect: NoExecute
    key: node.kubernetes.io/not-ready
    operator: Exists
    tolerationSeconds: 300
  - effect: NoExecute
    key: node.kubernetes.io/unreachable
    operator: Exists
    tolerationSeconds: 300
  volumes:
  - emptyDir: {}
    name: data
  - name: kube-api-access-x7k2p
    projected:
      defaultMode: 420
      sources:
      - serviceAccountToken:
          expirationSeconds: 3607
          path: token
      - configMap:
          items:
          - key: ca.crt
            path: ca.crt
          name: kube-root-ca.crt
status:
  conditions:
  - lastProbeTime: null
    lastTransitionTime: "2029-12-31T11:00:05Z"
    status: "True"
    type: PodScheduled
  - lastProbeTime: null
    lastTransitionTime: "2029-12-31T11:00:15Z"
    status: "True"
    type: Ready
  containerStatuses:
  - containerID: containerd://0123456789abcdef0123456789abcdef
    image: registry.example.com/research/train:1.4.2
    imageID: registry.example.com/research/train@sha256:0123456789abcdef
    lastState: {}
    name: main
    ready: true
    restartCount: 0
    started: true
    state:
      running:
        startedAt: "2029-12-31T11:00:14Z"
  hostIP: 10.0.0.7
  phase: Running
  podIP: 10.4.0.7
  podIPs:
  - ip: 10.4.0.7
  qosClass: Burstable
  startTime: "2029-12-31T11:00:05Z"
`

const benchNode = `apiVersion: v1
kind: Node
metadata:
  creationTimestamp: "2029-12-01T00:00:00Z"
  labels:
    kubernetes.io/arch: amd64
    kubernetes.io/hostname: node-%[1]d
    node.kubernetes.io/instance-type: p5.48xlarge
    tidegate.io/node-group: h100
    topology.kubernetes.io/zone: us-east-1a
  name: node-%[1]d
spec:
  providerID: aws:///us-east-1a/i-%012[1]d
  taints:
  - effect: NoSchedule
    key: nvidia.com/gpu
status:
  allocatable:
    cpu: 191450m
    memory: 2000Gi
    nvidia.com/gpu: "8"
    pods: "110"
  capacity:
    cpu: "192"
    memory: 2048Gi
    nvidia.com/gpu: "8"
    pods: "110"
  conditions:
  - lastHeartbeatTime: "2029-12-31T11:00:00Z"
    lastTransitionTime: "2029-12-01T00:02:00Z"
    message: kubelet is posting ready status
    reason: KubeletReady
    status: "True"
    type: Ready
  images:
  - names:
    - registry.example.com/research/train:1.4.2
    sizeBytes: 12345678901
`

// dump is a reader of a generated dump: it never holds more than one object, so that the
// heap that a benchmark sees is the builder's.
type dump struct {
	piece  func(i int) []byte // nil after the last.
	next   int
	rest   []byte
	size   int
	sample bool
	peak   uint64
}

func (d *dump) Read(p []byte) (int, error) {
	if len(d.rest) == 0 {
		d.rest = d.piece(d.next)
		if d.rest == nil {
			return 0, io.EOF
		}
		if d.sample && d.next%5000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			d.peak = max(d.peak, m.HeapAlloc)
		}
		d.next++
		d.size += len(d.rest)
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

func benchObject(i, nodes int, podFormat, nodeFormat string) []byte {
	if i < nodes {
		return fmt.Appendf(nil, nodeFormat, i)
	}
	pod := i - nodes
	return fmt.Appendf(nil, podFormat, pod, pod/16, pod%40, pod%nodes)
}

// indentedJSON converts a template; the verbs of its names pass through.
func indentedJSON(tb testing.TB, template string) string {
	raw, err := yaml.YAMLToJSON([]byte(template))
	require.NoError(tb, err)
	var out bytes.Buffer
	require.NoError(tb, json.Indent(&out, raw, "    ", "    "))
	return out.String()
}

// newDump makes a dump of nodes and pods in one of the formats.
func newDump(tb testing.TB, format string, nodes, pods int) *dump {
	wrap := func(head, tail string, object func(i int) []byte) *dump {
		return &dump{piece: func(i int) []byte {
			switch {
			case i == 0:
				return []byte(head)
			case i <= nodes+pods:
				return object(i - 1)
			case i == nodes+pods+1 && tail != "":
				return []byte(tail)
			}
			return nil
		}}
	}
	podJSON, nodeJSON := indentedJSON(tb, benchPod), indentedJSON(tb, benchNode)
	switch format {
	case "json-list":
		return wrap("{\"apiVersion\": \"v1\",\n\"items\": [\n", "],\n\"kind\": \"List\"}\n", func(i int) []byte {
			out := benchObject(i, nodes, podJSON, nodeJSON)
			if i > 0 {
				out = append([]byte(",\n"), out...)
			}
			return out
		})
	case "yaml-list":
		return wrap("apiVersion: v1\nitems:\n", "kind: List\nmetadata:\n  resourceVersion: \"\"\n", func(i int) []byte {
			text := bytes.TrimSuffix(benchObject(i, nodes, benchPod, benchNode), []byte("\n"))
			return append(append([]byte("- "), bytes.ReplaceAll(text, []byte("\n"), []byte("\n  "))...), '\n')
		})
	}
	return wrap("# dump\n", "", func(i int) []byte { return append([]byte("---\n"), benchObject(i, nodes, benchPod, benchNode)...) })
}

// BenchmarkRead reads 5,000 nodes and 100,000 pods. The dump is made on the fly from templates,
// which costs little; peak-MB is the heap with its garbage, live-MB what the snapshot holds.
func BenchmarkRead(b *testing.B) {
	const nodes, pods = 5000, 100000
	for _, format := range []string{"json-list", "yaml-list", "yaml-documents"} {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				in := newDump(b, format, nodes, pods)
				in.sample = true
				b.StartTimer()
				builder := snapshot.NewBuilder()
				require.NoError(b, builder.Read(in, "dump"))
				s, err := builder.Build()
				require.NoError(b, err)
				b.StopTimer()
				require.Len(b, s.Nodes(), nodes)
				require.Len(b, s.Pods(), pods)
				require.Empty(b, s.Warnings())
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapAlloc)/1e6, "live-MB")
				b.ReportMetric(float64(in.peak)/1e6, "peak-MB")
				b.ReportMetric(float64(in.size)/1e6, "input-MB")
				runtime.KeepAlive(s)
				b.StartTimer()
			}
		})
	}
}
