package objects_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// limited is a shell tool with one line of metadata more.
func limited(line string) (*objects.Item, error) {
	return objects.Parse("tools/acme/x.sh", []byte("# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# description: X.\n# "+line+"\n\necho\n"))
}

func TestLimits(t *testing.T) {
	want := objects.Limits{Memory: 512 << 20, Processes: 2, CPU: 30 * time.Second, File: 1000, Temp: 2 << 30, Time: 90 * time.Second, Output: 64 << 10}
	for path, text := range map[string]string{
		"tools/a/x.sh":   "# version: 1.0.0\n# limits: {memory: 512MiB, processes: 2, cpu: 30, file: 1000, temp: 2GiB, time: 1m30s, output: \"64KiB\"}\n",
		"tools/a/x.yaml": "version: 1.0.0\nlimits:\n  memory: 512MiB\n  processes: '2'\n  cpu: 30s\n  file: '1000'\n  temp: 2048MiB\n  time: 90\n  output: 65536\n",
		"tools/a/x.json": `{"version": "1.0.0", "limits": {"memory": 536870912, "processes": 2, "cpu": "30s", "file": 1000, "temp": "2GiB", "time": 90, "output": 65536}}`,
		"tools/a/x.py":   "__version__ = \"1.0.0\"\n__limits__ = {\"memory\": \"512MiB\", \"processes\": 2, \"cpu\": 30, \"file\": 1_000, \"temp\": \"2GiB\", \"time\": \"90s\",\n  \"output\": 0x10000}\n",
	} {
		it, err := objects.Parse(path, []byte(text))
		if err != nil || it.Meta.Limits != want {
			t.Errorf("%s: %+v, %v, want %+v", path, it, err, want)
		}
	}
	if got := want.String(); got != "cpu 30s, file 1000, memory 512MiB, output 64KiB, processes 2, temp 2GiB, time 1m30s" {
		t.Errorf("String: %q", got)
	}
	if got := (objects.Limits{}).String(); got != "" {
		t.Errorf("String of nothing: %q", got)
	}
}

// What limits a tool is never skipped because nobody understood it.
func TestLimitsRefused(t *testing.T) {
	for _, l := range []string{
		"limits: 5", "limits: [memory]", "limits: {memori: 5}", "limits: {Memory: 5}", "limits: {max_memory: 5}",
		"limits: {memory: 0}", "limits: {memory: -1}", "limits: {memory: 1.5}", "limits: {memory: 1.5GiB}", "limits: {memory: 512MB}", "limits: {memory: 512M}",
		"limits: {memory: 512 MiB}", "limits: {memory: MiB}", "limits: {memory: +5MiB}", "limits: {memory: 05MiB}", "limits: {memory: 2TiB}",
		"limits: {memory: 9223372036854775807GiB}", "limits: {memory: 99999999999999999999}", "limits: {memory: unlimited}", "limits: {memory: true}",
		"limits: {memory: null}", "limits: {memory: [5]}", "limits: {processes: 1048577}", "limits: {processes: 1KiB}", "limits: {processes: 0}",
		"limits: {time: 0}", "limits: {time: 500ms}", "limits: {time: 1.5s}", "limits: {time: -5s}", "limits: {time: 8d}", "limits: {time: 169h}", "limits: {time: 10000000}",
		"limits: {cpu: 1e3s}", "limits: {cpu: .5h}", "limits: {cpu: 1s500ms}",
	} {
		it, err := limited(l)
		if fault.CodeOf(err) != fault.Malformed || !strings.Contains(err.Error(), "limits") {
			t.Errorf("%s: %+v, %v", l, it, err)
		}
		var at *objects.SyntaxError
		if !errors.As(err, &at) || at.Line != 4 {
			t.Errorf("%s: no place in %v", l, err)
		}
	}
	for _, text := range []string{"__limits__ = LIMITS\n", "__limits__ = {\"memory\": N}\n", "__limits__ = {'memory': '1GiB'}\n__limits__ = {}\n", "__tier__ = TIER\n", "__tier__ = 't2' if x else 't0'\n"} {
		if it, err := objects.Parse("tools/acme/x.py", []byte(text)); fault.CodeOf(err) != fault.Malformed {
			t.Errorf("%s: %+v, %v", text, it, err)
		}
	}
}

func TestLimitsAnd(t *testing.T) {
	a := objects.Limits{Memory: 5, Time: 9, Processes: 2}
	b := objects.Limits{Memory: 7, Time: 3, Output: 1}
	want := objects.Limits{Memory: 5, Time: 3, Processes: 2, Output: 1}
	if a.And(b) != want || b.And(a) != want || a.And(a) != a {
		t.Errorf("%+v and %+v: %+v, want %+v", a, b, a.And(b), want)
	}
}

// What is shown as a limit can be written as one.
func FuzzLimits(f *testing.F) {
	f.Add("512MiB", "1h30m")
	f.Add("7", "604800")
	f.Fuzz(func(t *testing.T, size, length string) {
		it, err := limited(fmt.Sprintf("limits: {memory: %q, time: %q}", size, length))
		if err != nil {
			return
		}
		var parts []string
		for _, l := range it.Meta.Limits.Stated() {
			parts = append(parts, l.Name+": "+l.Text)
		}
		again, err := limited("limits: {" + strings.Join(parts, ", ") + "}")
		if err != nil || again.Meta.Limits != it.Meta.Limits {
			t.Errorf("%q, %q: %v, then %v, %v", size, length, it.Meta.Limits, again, err)
		}
	})
}
