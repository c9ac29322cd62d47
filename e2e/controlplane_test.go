//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// featureGates are off by default in Kubernetes 1.37: PodGroups, their topology, and the
// claims that a PodGroup shares.
const featureGates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,DRAWorkloadResourceClaims=true,WorkloadWithJob=true"

// mostAllocated is the scheduler's profile for configurations with that scoring.
const mostAllocated = "most-allocated"

// controlPlane is a running control plane.
type controlPlane struct {
	binaries, data, logs string
	address, token       string
}

// startControlPlane starts everything, waits until the API server is ready and ends it
// with the test. Logs are kept when the test fails.
func startControlPlane(t *testing.T) *rest.Config {
	t.Helper()
	c := &controlPlane{binaries: os.Getenv("TIDEGATE_E2E_BIN"), data: t.TempDir(), token: "e2e"}
	require.NotEmpty(t, c.binaries, "TIDEGATE_E2E_BIN has to name the folder of the control plane's binaries; make e2e sets it")
	var err error
	c.logs, err = os.MkdirTemp("", "tidegate-e2e-logs-")
	require.NoError(t, err)
	t.Cleanup(func() { c.showLogs(t) })

	c.startAPI(t)
	config := &rest.Config{
		Host: c.address, BearerToken: c.token, QPS: -1, WarningHandler: rest.NoWarnings{},
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	c.waitReady(t, config)
	c.startScheduler(t)
	c.startControllers(t)
	return config
}

func (c *controlPlane) startAPI(t *testing.T) {
	client, peer := "http://"+freeAddress(t), "http://"+freeAddress(t)
	c.run(t, "etcd", "--data-dir", filepath.Join(c.data, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer)

	address := freeAddress(t)
	c.address = "https://" + address
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	c.write(t, "tokens.csv", c.token+",admin,admin,system:masters\n")
	c.write(t, "sa.key", newKey(t))
	c.run(t, "kube-apiserver", "--etcd-servers", client, "--bind-address", "127.0.0.1", "--secure-port", port,
		"--cert-dir", filepath.Join(c.data, "certificates"), "--token-auth-file", c.path("tokens.csv"), "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", c.path("sa.key"),
		"--service-account-signing-key-file", c.path("sa.key"), "--service-cluster-ip-range", "10.96.0.0/16",
		"--endpoint-reconciler-type", "none", "--feature-gates", featureGates, "--runtime-config", "scheduling.k8s.io/v1beta1=true",
		// No service accounts are made here. Nodes come up complete, so nothing would ever
		// take away the taint that keeps pods off a node until its kubelet reports.
		"--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition")
}

func (c *controlPlane) waitReady(t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
	require.NoError(t, err, "the API server is not ready")
}

func (c *controlPlane) startScheduler(t *testing.T) {
	c.write(t, "kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: e2e
contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]
clusters: [{name: e2e, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: e2e, user: {token: %q}}]
`, c.address, c.token))
	// Retries come after one second instead of up to ten, so that a scenario ends sooner.
	c.write(t, "scheduler.yaml", fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 1000, burst: 1000}
leaderElection: {leaderElect: false}
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
profiles:
- schedulerName: default-scheduler
- schedulerName: %s
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}}
`, c.path("kubeconfig"), mostAllocated))
	c.run(t, "kube-scheduler", "--config", c.path("scheduler.yaml"), "--feature-gates", featureGates, "--secure-port", "0", "-v", "3")
}

// startControllers starts the two that make objects which the scheduler waits for: claims
// from their templates, and the pods of DaemonSets. Any other would miss kubelets.
func (c *controlPlane) startControllers(t *testing.T) {
	c.run(t, "kube-controller-manager", "--kubeconfig", c.path("kubeconfig"), "--leader-elect=false", "--feature-gates", featureGates,
		"--controllers", "resourceclaim-controller,daemonset-controller", "--secure-port", "0", "--kube-api-qps", "1000", "--kube-api-burst", "1000")
}

// run starts a binary of the control plane and kills it when the test ends. The shell
// kills it too when its own input ends, as it does if the test dies without cleaning up.
func (c *controlPlane) run(t *testing.T, name string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(c.logs, name+".log"))
	require.NoError(t, err)
	const script = `trap '' INT TERM; "$@" </dev/null & cat >/dev/null; kill -KILL $!; wait $!`
	cmd := exec.Command("sh", append([]string{"-c", script, "sh", filepath.Join(c.binaries, name)}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = cmd.Wait()
		_ = log.Close()
	})
}

func (c *controlPlane) path(name string) string { return filepath.Join(c.data, name) }

func (c *controlPlane) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(c.path(name), []byte(text), 0o600))
}

// showLogs prints the end of each log when the test has failed, and removes them otherwise.
func (c *controlPlane) showLogs(t *testing.T) {
	if !t.Failed() {
		_ = os.RemoveAll(c.logs)
		return
	}
	const most = 10
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		text, _ := os.ReadFile(filepath.Join(c.logs, name+".log"))
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		t.Logf("the end of %s.log:\n%s", name, strings.Join(lines[max(0, len(lines)-most):], "\n"))
	}
	t.Logf("whole logs: %s", c.logs)
}

// freeAddress is a loopback address with a port that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// newKey is a key for signing the tokens of service accounts, which nobody uses.
func newKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}
