package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/loop"
	"github.com/rye-os/rye/fault"
)

// hostile are turns that ask for more than they may have, in many steps of the interpreter.
var hostile = []struct {
	name, body string
	want       fault.Code
	says       string
}{
	{"it never ends", "for i in range(1 << 40):\n    pass", fault.Limit, "more than 1000000 steps"},
	{"loops in each other", "for a in range(1000):\n    for b in range(1000):\n        for c in range(1000):\n            pass", fault.Limit, "steps"},
	{"recursion", "def f():\n    f()\nf()", fault.Failed, "called recursively"},
	{"recursion without a name", "y = lambda f: f(f)\ny(y)", fault.Failed, "called recursively"},
	{"recursion through a builtin", "def f(x):\n    return sorted([1], key = f)\nf(1)", fault.Failed, "called recursively"},

	{"a list doubled", "x = [0]\nfor i in range(60):\n    x = x + x", fault.Limit, "memory"},
	{"a list doubled in place", "x = [0]\nfor i in range(60):\n    x += x", fault.Limit, "memory"},
	{"a list extended by itself", "x = [0]\nfor i in range(60):\n    x.extend(x)", fault.Limit, "memory"},
	{"an element doubled", "x = [[0]]\nfor i in range(60):\n    x[0] += x[0]", fault.Limit, "memory"},
	{"a value doubled", "x = {1: \"a\"}\nfor i in range(60):\n    x[1] += x[1]", fault.Limit, "memory"},
	{"a text doubled", "x = \"a\"\nfor i in range(60):\n    x += x", fault.Limit, "memory"},
	{"a tuple doubled", "x = (0,)\nfor i in range(60):\n    x = x + x", fault.Limit, "memory"},
	{"a text repeated very often", "x = \"a\" * (1 << 70)", fault.Failed, "too large"},
	{"a dict doubled", "x = {i: i for i in range(1000)}\nfor i in range(20):\n    x = x | {(i, k): k for k in x}", fault.Limit, ""},
	{"copies kept", "x = [0] * 100000\ny = []\nfor i in range(1000):\n    y.append(x[:])", fault.Limit, "memory"},
	{"texts kept", "x = \"a\" * 100000\ny = []\nfor i in range(10000):\n    y.append(x + \"b\")", fault.Limit, "memory"},
	{"texts turned and kept", "x = \"a\" * 100000\ny = []\nfor i in range(10000):\n    y.append(x[::-1])", fault.Limit, "memory"},
	{"arguments kept", "x = [0] * 100000\ny = []\ndef f(*a):\n    y.append(a)\nfor i in range(10000):\n    f(*x)", fault.Limit, "memory"},
	{"a range joined", "x = \"\".join(range(1 << 30))", fault.Failed, "want string, got int"},
	{"a text split", "x = [(\"a,\" * 1000000).split(\",\") for i in range(100)]", fault.Limit, "memory"},
	{"lines", "x = [(\"\\n\" * 1000000).splitlines() for i in range(100)]", fault.Limit, "memory"},
	{"a note as long as a graph", "x = [1]\nfor i in range(28):\n    x = [x, x]\nhost.hook(\"x\", {\"a\": x})", fault.Failed, "more than 1048576 bytes"},
	{"an attribute by a text", "getattr([0], \"extend\")", fault.Failed, "getattr is not in the language"},
	{"bytes", "bytes(\"a\")", fault.Failed, "bytes is not in the language"},

	{"a state too large", "return {\"x\": \"a\" * 66000}, next.again()", fault.Failed, "more than 65536 bytes"},
	{"a state of a graph", "x = [1]\nfor i in range(28):\n    x = [x, x]\nreturn {\"x\": x}, next.again()", fault.Failed, "more than 65536 bytes"},
	{"a note too large", "host.note(\"a\" * 1100000)", fault.Failed, "more than 1048576 bytes"},
	{"an end too large", "return {}, next.done(\"a\" * 1100000)", fault.Failed, "more than 1048576 bytes"},
	{"a million calls", "for i in range(1000000):\n    host.now()", fault.Limit, "more than 10000 times"},
	{"answers kept", "x = [host.limits() for i in range(9000)]", fault.Limit, "memory"},

	{"a constant changed", "DATA.append(1)", fault.Failed, "frozen"},
	{"a constant changed in place", "DATA[0] += 1", fault.Failed, "frozen"},
	{"a constant's element changed", "CONFIG[\"a\"][\"b\"] = 2", fault.Failed, "frozen"},
	{"a constant updated", "CONFIG.update(a = 1)", fault.Failed, "frozen"},
	{"a list changed while it is read", "x = [1]\nfor i in x:\n    x.append(1)", fault.Failed, "during iteration"},
}

// greedy are turns that ask for it in one step, which nothing can interrupt.
var greedy = []struct{ name, body string }{
	{"a list repeated", "x = [0] * (1 << 29)"},
	{"a list repeated, the other way", "x = (1 << 29) * (0,)"},
	{"a text repeated", "x = \"abc\" * (1 << 28)"},
	{"a text repeated in place", "x = \"abc\"\nx *= 1 << 28"},
	{"a list of a range", "x = list(range(1 << 30))"},
	{"a sorted range", "x = sorted(range(1 << 30))"},
	{"a numbered range", "x = enumerate(range(1 << 30))"},
	{"ranges side by side", "x = zip(range(1 << 30), range(1 << 30))"},
	{"the greatest of an unpacked range", "x = max(*range(1 << 30))"},
	{"a range unpacked", "def f(*a):\n    pass\nf(*range(1 << 30))"},
	{"texts joined", "x = (\"a\" * 1000000).join([\"\"] * 100000)"},
	{"a text replaced", "x = (\"a\" * 1000000).replace(\"a\", \"b\" * 1000000)"},
	{"nothing replaced", "x = (\"a\" * 1000000).replace(\"\", \"b\" * 1000000)"},
	{"a text formatted", "x = (\"{0}\" * 1000000).format(\"a\" * 1000000)"},
	{"a text filled in", "x = (\"%s\" * 100000) % ((\"a\" * 1000,) * 100000)"},
	{"a text of a graph", "x = [1]\nfor i in range(28):\n    x = [x, x]\ny = str(x)"},
	{"a text of a dict of dicts", "x = {}\nfor i in range(28):\n    x = {1: x, 2: x}\ny = repr(x)"},
	{"a failure as long as a graph", "x = [1]\nfor i in range(28):\n    x = [x, x]\nfail(x)"},
	{"a number squared", "x = 3\nfor i in range(60):\n    x *= x"},
	{"a long number read", "x = int(\"9\" * 1000000)"},
	{"printed with a wide gap", "print(sep = \"a\" * 10000, *([1] * 10000))"},
}

func hostileProgram(body string) string {
	return "DATA = [1]\nCONFIG = {\"a\": {\"b\": 1}}\n" + frame(body)
}

// wide is a host that says much when it is asked for limits.
type wide struct{}

func (wide) Call(_ context.Context, name string, _ map[string]any) (any, error) {
	if name == "limits" {
		return []string{strings.Repeat("a", 50_000)}, nil
	}
	return nil, nil
}

// dense are the programs that make the most of a million steps with small values.
var dense = []string{
	"x = [[] for i in range(1 << 40)]",
	"x = [{} for i in range(1 << 40)]",
	"x = [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] for i in range(1 << 40)]",
	"x = {i: i for i in range(1 << 40)}",
	"x = [(i, i) for i in range(1 << 40)]",
	"x = [lambda: i for i in range(1 << 40)]",
	"x = [str(i) for i in range(1 << 40)]",
	"x = [i + (1 << 40) for i in range(1 << 40)]",
	"x = [host.now for i in range(1 << 40)]",
	"x = [\"\".join for i in range(1 << 40)]",
	"x = [[].extend for i in range(1 << 40)]",
	"x = []\nfor i in range(1 << 40):\n    x = [x, {}]",
	"x = [range(i) for i in range(1 << 40)]",
	"x = []\ny = {1: 1}\nfor i in range(1 << 40):\n    x.append(y.items())",
}

// TestHostile runs every hostile program in one process, which survives all of them.
func TestHostile(t *testing.T) {
	if os.Getenv("RYE_LOOP_HOSTILE") != "" {
		runHostile(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHostile$", "-test.v")
	cmd.Env = append(os.Environ(), "RYE_LOOP_HOSTILE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%.8000s", err, out)
	}
	if testing.Verbose() {
		t.Logf("%s", out)
	}
}

func runHostile(t *testing.T) {
	for _, c := range hostile {
		start := time.Now()
		p, err := loop.Compile("test", []byte(hostileProgram(c.body)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		_, err = p.Turn(context.Background(), wide{}, json.RawMessage(`{}`), nil, nil, loop.Bounds{Time: time.Minute, Memory: 16 << 20})
		if !fault.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 2000 {
			t.Errorf("%s: %v (%v), want %v, %q", c.name, err, fault.CodeOf(err), c.want, c.says)
		}
		t.Logf("%-35s %v, peak so far %d MB", c.name, time.Since(start), peak()>>20)
	}
	for _, body := range dense {
		if _, err := once(t, body, wide{}, loop.Bounds{Time: time.Minute, Memory: 16 << 20}); !fault.Is(err, fault.Limit) {
			t.Errorf("%s: %v", body, err)
		}
		t.Logf("%-35s peak so far %d MB", strings.ReplaceAll(body, "\n", "; "), peak()>>20)
	}
	if peak() > 512<<20 { // some 90 MB; the race detector takes more
		t.Errorf("the process took %d MB", peak()>>20)
	}
}

// peak is the most memory that this process has had, in bytes; 0 where nobody tells.
func peak() int64 {
	raw, _ := os.ReadFile("/proc/self/status")
	for _, l := range strings.Split(string(raw), "\n") {
		if f := strings.Fields(l); len(f) > 1 && f[0] == "VmHWM:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// TestOneOperationThatDoesNotEnd is the hole that is left: an operation that costs no memory
// cannot be stopped in its middle. Turn returns all the same, and says so. It runs in a process
// of its own, which ends with it.
func TestOneOperationThatDoesNotEnd(t *testing.T) {
	if os.Getenv("RYE_LOOP_STUCK") != "" {
		body := "x = (1,)\nfor i in range(200):\n    x = (x, x)\ny = {x: 1}\nhost.now()" // to hash x takes 2^200 steps
		_, err := once(t, body, hostFunc(func(context.Context, string) (any, error) {
			t.Error("asked after the end")
			return nil, nil
		}), loop.Bounds{Time: 20 * time.Millisecond})
		fmt.Println(err)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestOneOperationThatDoesNotEnd$")
	cmd.Env = append(os.Environ(), "RYE_LOOP_STUCK=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "an operation of the program does not end") {
		t.Errorf("%v\n%s", err, out)
	}
}
