package analyze_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"netwhy/analyze"
	"netwhy/analyze/conn"
	"netwhy/analyze/proto"
	"netwhy/analyze/tcp"
	"netwhy/capture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared returns a folder of captures kept beside the repository.
func shared(tb testing.TB, name string) string {
	tb.Helper()
	root := os.Getenv("NETWHY_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("captures are missing: %v", err)
		}
		tb.Skipf("captures are missing: %v", err)
	}
	return dir
}

func captures(tb testing.TB, name string) (paths []string) {
	tb.Helper()
	dir := shared(tb, name)
	list, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range list {
		if ext := filepath.Ext(e.Name()); ext == ".pcap" || ext == ".pcapng" || ext == ".cap" || ext == ".gz" {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

func run(tb testing.TB, path string, opt analyze.Options) *analyze.Result {
	tb.Helper()
	src, err := capture.Open(tb.Context(), []string{path}, capture.Options{})
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	defer src.Close()
	r, err := analyze.Run(tb.Context(), src, opt, nil)
	var cut *capture.TruncatedError
	if err != nil && !errors.As(err, &cut) {
		tb.Fatalf("%s: %v", path, err)
	}
	return r
}

// everything compares addresses by value and all fields of our own types.
var everything = cmp.Exporter(func(reflect.Type) bool { return true })

// The same capture gives the same result for any number of workers, down to the
// order of everything.
func TestSameForAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	for _, path := range append(captures(t, "lab"), captures(t, "corpus")...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			collect := func(workers int) (*analyze.Result, []conn.Summary) {
				var all []conn.Summary
				r := run(t, path, analyze.Options{Workers: workers, Connection: func(s *conn.Summary) {
					c := *s
					all = append(all, c)
				}})
				return r, all
			}
			one, conns := collect(1)
			for _, n := range []int{2, 8} {
				more, moreConns := collect(n)
				if diff := differences(one, more); diff != "" {
					t.Fatalf("%d workers differ from one (-one +%d):\n%s", n, n, diff)
				}
				if diff := differences(conns, moreConns); diff != "" {
					t.Fatalf("%d workers fold connections differently (-one +%d):\n%s", n, n, diff)
				}
			}
		})
	}
}

// differences says where two values differ. cmp takes a hundred times as long as
// reflect over many thousand equal connections, and is only asked of unequal ones.
func differences(a, b any) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return cmp.Diff(a, b, everything)
}

// truth is what tshark says of a capture.
type truth struct {
	Packets          uint64            `json:"packets"`
	TCPConversations uint64            `json:"tcp_conversations"`
	UDPConversations uint64            `json:"udp_conversations"`
	TCPAnalysis      map[string]uint64 `json:"tcp_analysis"`
	TCPRst           uint64            `json:"tcp_rst"`
	DNSRcode         map[string]uint64 `json:"dns_rcode"`
	ICMP             map[string]uint64 `json:"icmp_type_code"`
	ICMPv6           map[string]uint64 `json:"icmpv6_type_code"`
	TLSAlert         map[string]uint64 `json:"tls_alert_desc"`
	HTTPStatus       map[string]uint64 `json:"http_response_code"`
}

func truthOf(tb testing.TB, path string) truth {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(path), "truth", filepath.Base(path)+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	var v truth
	if err := json.Unmarshal(b, &v); err != nil {
		tb.Fatal(err)
	}
	return v
}

func tcpCounters(r *analyze.Result) map[string]uint64 {
	m := map[string]uint64{}
	for i, name := range tcp.CounterNames {
		m[name] = r.TCP[i]
	}
	return m
}

// A run that is interrupted returns what it found, and all its goroutines end.
func TestRunCancelled(t *testing.T) {
	t.Parallel()
	path := captures(t, "lab")[0]
	src, err := capture.Open(t.Context(), []string{path}, capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	r, err := analyze.Run(ctx, src, analyze.Options{Workers: 2}, nil)
	if !errors.Is(err, stop) {
		t.Errorf("error: got %v, want the cause", err)
	}
	if r == nil {
		t.Error("no result")
	}
}

// Connections and TCP counters are Wireshark's in every capture.
func TestCountersAreWiresharks(t *testing.T) {
	t.Parallel()
	paths, right := captures(t, "corpus"), 0
	for _, path := range paths {
		want, r := truthOf(t, path), run(t, path, analyze.Options{Workers: 2})
		want.TCPAnalysis["reset"] = want.TCPRst
		got := truth{
			Packets: r.Packets, TCPConversations: r.TCPConversations, UDPConversations: r.UDPConversations,
			TCPAnalysis: tcpCounters(r),
			ICMP:        orEmpty(r.Keyed[proto.ICMPTypeCode]), ICMPv6: orEmpty(r.Keyed[proto.ICMPv6TypeCode]),
		}
		want.TCPRst, want.DNSRcode, want.TLSAlert, want.HTTPStatus = 0, nil, nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Logf("%s (-tshark +netwhy):\n%s", filepath.Base(path), diff)
			continue
		}
		right++
	}
	t.Logf("as tshark: %d of %d captures", right, len(paths))
	if least := len(paths); right < least {
		t.Errorf("%d captures agree, want all %d", right, least)
	}
}

func orEmpty(m map[string]uint64) map[string]uint64 {
	if m == nil {
		return map[string]uint64{}
	}
	return m
}
