package zeek

import (
	"bytes"
	"strings"
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/cmd/netwhy/internal/report/reporttest"
)

var update = reporttest.Updating()

func TestLog(t *testing.T) {
	t.Parallel()
	got := reporttest.Written(t, New, reporttest.Stalled())
	reporttest.Golden(t, "conn.log", got, *update)
	want := len(fields())
	for line := range bytes.Lines(got) {
		if line[0] != '#' && bytes.Count(line, []byte("\t")) != want-1 {
			t.Errorf("%q has not %d fields", line, want)
		}
	}
}

// TestState: conn_state and history as Zeek's documentation of conn.log defines
// them.
func TestState(t *testing.T) {
	t.Parallel()
	side := func(packets uint64, fin, rst bool) conn.Side {
		return conn.Side{Packets: packets, Unique: packets * 10, Fin: fin, Rst: rst}
	}
	none := conn.Side{}
	syn := conn.Side{Packets: 1}
	for _, tt := range []struct {
		want, history string
		c             conn.Summary
	}{
		{"S0", "S", conn.Summary{SYNs: 1, Client: syn, Server: none, End: conn.EndNoAnswer}},
		{"S1", "ShADad", conn.Summary{SYNs: 1, Established: true, Client: side(3, false, false), Server: side(3, false, false), End: conn.EndOpen}},
		{"SF", "ShADadFf", conn.Summary{SYNs: 1, Established: true, Client: side(3, true, false), Server: side(3, true, false), End: conn.EndFin}},
		{"REJ", "Sr", conn.Summary{SYNs: 1, Client: syn, Server: conn.Side{Packets: 1, Rst: true}, End: conn.EndRefused}},
		{"S2", "ShADadF", conn.Summary{SYNs: 1, Established: true, Client: side(3, true, false), Server: side(3, false, false), End: conn.EndHalf}},
		{"S3", "ShADadf", conn.Summary{SYNs: 1, Established: true, Client: side(3, false, false), Server: side(3, true, false), End: conn.EndHalf}},
		{"RSTO", "ShADadR", conn.Summary{SYNs: 1, Established: true, Client: side(3, false, true), Server: side(3, false, false), End: conn.EndReset}},
		{"RSTR", "ShADadr", conn.Summary{SYNs: 1, Established: true, Client: side(3, false, false), Server: side(3, false, true), End: conn.EndReset}},
		{"RSTOS0", "SR", conn.Summary{SYNs: 1, Client: conn.Side{Packets: 2, Rst: true}, End: conn.EndReset}},
		{"SH", "SF", conn.Summary{SYNs: 1, Client: conn.Side{Packets: 2, Fin: true}, End: conn.EndHalf}},
		{"OTH", "ADad", conn.Summary{MidStream: true, Established: true, Client: side(3, false, false), Server: side(3, false, false), End: conn.EndOpen}},
		{"SF", "Dd", conn.Summary{ID: flow.ID{Proto: flow.UDP}, Client: side(1, false, false), Server: side(1, false, false)}},
		{"S0", "D", conn.Summary{ID: flow.ID{Proto: flow.UDP}, Client: side(1, false, false)}},
	} {
		if tt.c.ID.Proto == 0 {
			tt.c.ID.Proto = flow.TCP
		}
		if got := State(&tt.c); got != tt.want {
			t.Errorf("state %s, want %s: %+v", got, tt.want, tt.c.End)
		}
		if got := History(&tt.c); got != tt.history {
			t.Errorf("%s: history %s, want %s", tt.want, got, tt.history)
		}
	}
}

// TestMeasured: where a diary was kept, the log has its order and its bytes.
func TestMeasured(t *testing.T) {
	t.Parallel()
	c := conn.Summary{
		ID: flow.ID{Proto: flow.TCP}, SYNs: 1, History: "ShADTdaFf",
		Client: conn.Side{Packets: 4, NetBytes: 500}, Server: conn.Side{Packets: 3, NetBytes: 400, BadChecksums: 1},
	}
	if got := History(&c); got != "ShADTdaFfc" {
		t.Errorf("history %s", got)
	}
	if got := network(&c.Client) + " " + network(&c.Server) + " " + network(&conn.Side{}) + " " + network(&conn.Side{Packets: 1}); got != "500 400 0 -" {
		t.Errorf("bytes %s", got)
	}
}

// TestUIDs: one for each conversation, the same each time.
func TestUIDs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range reporttest.Connections() {
		id := uid(&c)
		if len(id) != 18 || id[0] != 'C' || seen[id] || id != uid(&c) || strings.ContainsAny(id, "\t\n") {
			t.Errorf("uid %q", id)
		}
		seen[id] = true
	}
}
