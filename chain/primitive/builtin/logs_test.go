package builtin

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

type logsAnswer struct {
	Success bool
	Code    string
	Data    struct {
		Logs, Errors logsList
		Stats        logsStats
	}
}

func logsCall(w *world, params any) (a logsAnswer) {
	w.t.Helper()
	in := w.in
	in.Params, _ = json.Marshal(params)
	raw, _ := json.Marshal(in)
	var out bytes.Buffer
	Main(w.t.Context(), []string{"logs"}, "b", bytes.NewReader(raw), &out)
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		w.t.Fatal(err)
	}
	return a
}

func TestLogs(t *testing.T) {
	w := newWorld(t)
	if a := logsCall(w, m{}); !a.Success || a.Data.Logs.Exists || a.Data.Stats.Files != 0 {
		t.Errorf("without logs: %+v", a)
	}
	w.file(".ai/logs/rye/old.log", "2026-02-10 12:34:56,789 - rye.server - ERROR - it broke\nWARNING: careful\n\nno form at all\n")
	w.file(".ai/logs/rye/new.log", `{"time":"2026-02-11T00:00:00Z","level":"info","msg":"started"}`+"\n"+
		`time=2026-02-11T00:00:01Z level=WARN msg="slow \"disk\"" n=3`+"\n2026/02/11 00:00:02 [fatal] gone\n")
	w.file(".ai/logs/rye/other.txt", "ERROR: not a log\n")
	past := time.Unix(1, 0)
	if err := os.Chtimes(w.path(".ai/logs/rye/old.log"), past, past); err != nil {
		t.Fatal(err)
	}
	a := logsCall(w, m{})
	var got []string
	for _, e := range a.Data.Logs.Entries {
		got = append(got, strings.Join([]string{e.Timestamp, e.Level, e.Message, e.File}, "|"))
	}
	want := []string{"2026-02-10 12:34:56,789|ERROR|it broke|old.log", "|WARNING|careful|old.log", "|UNKNOWN|no form at all|old.log",
		"2026-02-11T00:00:00Z|INFO|started|new.log", `2026-02-11T00:00:01Z|WARNING|slow "disk"|new.log`,
		"2026/02/11 00:00:02|CRITICAL|gone|new.log"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("logs:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if s := a.Data.Stats; s.Files != 2 || s.Levels["WARNING"] != 2 || s.Oldest != "2026-02-10 12:34:56,789" || s.Newest != "2026/02/11 00:00:02" {
		t.Errorf("stats: %+v", s)
	}
	if e := a.Data.Errors; e.Total != 4 || e.Entries[0].Message != "it broke" {
		t.Errorf("errors: %+v", e)
	}
	var one struct{ Data logsList }
	in := w.in
	in.Params = json.RawMessage(`{"item":"logs","level":"warning","limit":1}`)
	raw, _ := json.Marshal(in)
	var out bytes.Buffer
	Main(t.Context(), []string{"logs"}, "b", bytes.NewReader(raw), &out)
	if err := json.Unmarshal(out.Bytes(), &one); err != nil || one.Data.Total != 2 || one.Data.Returned != 1 || one.Data.Entries[0].File != "new.log" {
		t.Errorf("logs of one level: %s, %v", out.Bytes(), err)
	}
	w.refused("logs", m{"item": "everything"}, "usage")
	w.refused("logs", m{"level": "loud"}, "usage")
	w.refused("logs", m{"limit": 0}, "usage")
	w.refused("logs", m{"log_dir": "../keys"}, "denied")
	w.refused("logs", m{"log_dir": "hidden"}, "denied")
	w.refused("logs", m{"log_dir": ".ai/logs/rye/new.log"}, "usage")
}

// TestLogsOfAnySize reads the ends of logs, and no link out of the project.
func TestLogsOfAnySize(t *testing.T) {
	w := newWorld(t)
	w.file("big/a.log", strings.Repeat("INFO: "+strings.Repeat("x", 5000)+"\n", 1000)+"ERROR: last\n")
	a := logsCall(w, m{"log_dir": "big", "limit": 2})
	n := len(a.Data.Logs.Entries)
	if n != 2 || a.Data.Logs.Entries[1].Message != "last" || !a.Data.Stats.Truncated || len(a.Data.Logs.Entries[0].Message) > 3000 {
		t.Errorf("of a large log: %d entries, %+v", n, a.Data.Stats)
	}
	if err := os.Symlink(w.path("../outside.txt"), w.path("big/b.log")); err == nil {
		if a := logsCall(w, m{"log_dir": "big"}); a.Data.Stats.Files != 1 {
			t.Errorf("a link was read: %+v", a.Data.Stats)
		}
	}
}

func FuzzParseLogLine(f *testing.F) {
	f.Add("2026-02-10 12:34:56,789 - a - ERROR - b")
	f.Add(`{"level":"x","msg":3}`)
	f.Add(`level=ERROR msg="a`)
	f.Fuzz(func(t *testing.T, line string) {
		if e := parseLogLine(line); levelOf(e.Level) != e.Level && e.Level != "UNKNOWN" {
			t.Errorf("parseLogLine(%q) has the level %q", line, e.Level)
		}
	})
}
