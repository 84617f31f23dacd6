package ledger_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/ledger"
)

// jobEnv makes the test program do one job as a process of its own.
const jobEnv = "RYE_TEST_LEDGER_JOB"

var jobs = map[string]func(args []string) error{}

func TestMain(m *testing.M) {
	job := os.Getenv(jobEnv)
	if job == "" {
		os.Exit(m.Run())
	}
	if err := jobs[job](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, job+":", err)
		os.Exit(1)
	}
}

func soaking() bool { return os.Getenv("RYE_SOAK") != "" }

// process is a job that runs. It begins when release is called, and ends with its input.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startJob(t testing.TB, name string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...)}
	p.Env = append(os.Environ(), jobEnv+"="+name, "GOMAXPROCS=2")
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			p.Process.Kill()
			p.Wait()
		}
	})
	return p
}

// line reads one line of what the job says.
func (p *process) line(t testing.TB) string {
	t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("a job ended before its time: %v", err)
	}
	return s[:len(s)-1]
}

// ready tells the test that a job has begun, and waits for its word.
func ready() {
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
}

func (p *process) release() { fmt.Fprintln(p.in) }

func at(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "money", "ledger.db")
}

func open(t testing.TB, path string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(context.Background(), path, ledger.Options{Boot: "b1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func amount(money, tokens int64) ledger.Amount {
	return ledger.Amount{Money: rye.Micros(money), Tokens: tokens}
}

var none = amount(ledger.None, ledger.None)

// family is the nodes above threads, and threads.
func family(user, month, project, thread ledger.Amount, threads ...string) []ledger.Node {
	nodes := []ledger.Node{
		{ID: "me", Kind: ledger.User, Cap: user},
		{ID: "2026-11", Parent: "me", Kind: ledger.Month, Cap: month},
		{ID: "2026-11/p", Parent: "2026-11", Kind: ledger.Project, Cap: project},
	}
	for _, id := range threads {
		nodes = append(nodes, ledger.Node{ID: id, Parent: "2026-11/p", Kind: ledger.Thread, Cap: thread})
	}
	return nodes
}

func put(t testing.TB, l *ledger.Ledger, nodes ...ledger.Node) {
	t.Helper()
	if err := l.Put(context.Background(), nodes...); err != nil {
		t.Fatal(err)
	}
}

func init() { jobs["bench"] = benchJob }

// benchJob holds and settles, and says how long each took, in nanoseconds.
func benchJob(args []string) error {
	path, thread := args[0], args[1]
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	ctx := context.Background()
	l, err := ledger.Open(ctx, path, ledger.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	pause, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	end := func(key string) error {
		_, err := l.Settle(ctx, key, ledger.Bill{Amount: amount(60, 7), Provider: "anthropic", Model: "claude"})
		return err
	}
	if args[4] == "release" {
		end = func(key string) error { return l.Release(ctx, key) }
	}
	ready()
	var holds, settles []time.Duration
	for i := range n {
		key := thread + "/" + strconv.Itoa(i) + "/1"
		begin := time.Now()
		if err := l.Hold(ctx, thread, key, amount(100, 10), 0); err != nil {
			return err
		}
		held := time.Now()
		if err := end(key); err != nil {
			return err
		}
		holds, settles = append(holds, held.Sub(begin)), append(settles, time.Since(held))
		if pause > 0 {
			time.Sleep(pause)
		}
	}
	return json.NewEncoder(os.Stdout).Encode([2][]time.Duration{holds, settles})
}

// BenchmarkHoldSettle prints the median and the 99th percentile of holds and settles: by one
// process, by eight that do nothing else, and by eight that pause as threads do.
func BenchmarkHoldSettle(b *testing.B) {
	for _, c := range []struct {
		name  string
		procs int
		pause time.Duration
		end   string
	}{{"1", 1, 0, "release"}, {"8", 8, 0, "release"}, {"1 synced", 1, 0, "settle"}, {"8 synced", 8, 0, "settle"}, {"8 with pauses", 8, 5 * time.Millisecond, "settle"}} {
		b.Run(c.name, func(b *testing.B) {
			path := at(b)
			l := open(b, path)
			var threads []string
			for i := range c.procs {
				threads = append(threads, fmt.Sprintf("thread%d", i))
			}
			put(b, l, family(amount(1e12, -1), none, none, none, threads...)...)
			per := max(1, b.N/c.procs)
			var all []*process
			for _, id := range threads {
				all = append(all, startJob(b, "bench", path, id, strconv.Itoa(per), c.pause.String(), c.end))
			}
			for _, p := range all {
				p.line(b)
			}
			b.ResetTimer()
			for _, p := range all {
				p.release()
			}
			var took [2][]time.Duration
			for _, p := range all {
				var one [2][]time.Duration
				if err := json.NewDecoder(p.out).Decode(&one); err != nil {
					b.Fatal(err)
				}
				p.Wait()
				took[0], took[1] = append(took[0], one[0]...), append(took[1], one[1]...)
			}
			b.StopTimer()
			n := int64(per * c.procs)
			if c.end == "release" {
				n = 0
			}
			nodes, err := l.Tree(context.Background(), "me")
			if err != nil || nodes[0].Spent != amount(60*n, 7*n) || nodes[0].Held != amount(0, 0) {
				b.Fatalf("after %d calls: %+v, %v", n, nodes[0], err)
			}
			for i, what := range []string{"hold", c.end} {
				slices.Sort(took[i])
				n := len(took[i])
				b.ReportMetric(float64(took[i][n/2])/1e3, what+"-µs")
				b.ReportMetric(float64(took[i][n*99/100])/1e3, what+"-p99-µs")
				b.ReportMetric(float64(took[i][n-1])/1e3, what+"-max-µs")
			}
		})
	}
}
