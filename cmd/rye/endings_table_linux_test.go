package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The places where rye runs a tool, and what is under way when it ends. One run makes both of the first two.
var (
	venues = []string{"terminal", "MCP stdio", "MCP HTTP", "thread"}
	states = []string{"planted file", "running child", "open question"}
)

// A row is one ending in every place.
type row struct {
	name string
	in   map[string]ending
	not  map[string]string // why it is not possible: by place, or by place and state
	core []string          // places that make test looks at, too
}

func everywhere(e ending) map[string]ending {
	return map[string]ending{"terminal": e, "MCP stdio": e, "MCP HTTP": e, "thread": e}
}

// once is one signal. A server over HTTP lets the calls of its clients end first, for 10 s.
func once(sig syscall.Signal) map[string]ending {
	all := everywhere(ending{does: signals(sig)})
	all["MCP HTTP"] = ending{does: signals(sig), most: 15 * time.Second}
	return all
}

const (
	answered     = "over HTTP the question is the answer to the call, and nothing waits"
	writesNone   = "nothing is written while rye asks, so nobody notices"
	otherPlace   = "it is of another place"
	asksTerminal = "rye asks at the terminal, which is there"
)

func endings() []row {
	soon := 1500 * time.Millisecond
	closes := func(_ *scene, r *ryeProcess) {
		time.Sleep(300 * time.Millisecond) // the client sent its call some time ago
		r.in.Close()
	}
	// byTheBook is the shutdown of the MCP specification for stdio: close the input, wait, SIGTERM, wait, SIGKILL.
	byTheBook := func(wait time.Duration) func(*scene, *ryeProcess) {
		return func(_ *scene, r *ryeProcess) {
			time.AfterFunc(wait, func() { r.cmd.Process.Signal(syscall.SIGTERM) })
			time.AfterFunc(2*wait, func() { r.cmd.Process.Kill() })
		}
	}
	all := []row{
		{name: "SIGINT", in: once(syscall.SIGINT)},
		{name: "SIGINT twice", in: everywhere(ending{does: signals(syscall.SIGINT, syscall.SIGINT), how: "stubborn", most: soon}), core: []string{"terminal"}},
		{name: "SIGTERM", in: once(syscall.SIGTERM), core: []string{"thread"}},
		{name: "SIGTERM four times", in: everywhere(ending{does: signals(syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM), how: "stubborn", most: soon})},
		{name: "SIGHUP", in: once(syscall.SIGHUP)},
		{name: "SIGHUP and SIGTERM", in: everywhere(ending{does: signals(syscall.SIGHUP, syscall.SIGTERM), how: "stubborn", most: soon})},
		{name: "SIGQUIT", in: once(syscall.SIGQUIT)},
		{name: "Ctrl-C", in: map[string]ending{"terminal": {does: types("\x03")}}},
		{name: "Ctrl-C twice", in: map[string]ending{"terminal": {how: "stubborn", most: soon, does: func(_ *scene, r *ryeProcess) {
			r.master.WriteString("\x03")
			time.Sleep(50 * time.Millisecond)
			r.master.WriteString("\x03")
		}}}},
		{name: `Ctrl-\`, in: map[string]ending{"terminal": {does: types("\x1c")}}},
		{name: "SIGPIPE: nobody reads the output", in: map[string]ending{
			"terminal":  {piped: true, how: "loud", does: func(_ *scene, r *ryeProcess) { r.out.Close() }},
			"MCP stdio": {how: "soon", does: func(_ *scene, r *ryeProcess) { r.out.Close() }},
			"MCP HTTP":  {how: "client", gone: true}, // the client closes its connection
		}, not: map[string]string{"terminal/open question": asksTerminal, "MCP stdio/open question": writesNone, "thread": "a thread writes into files"}, core: []string{"MCP HTTP"}},
		{name: "both ends of the pipes", in: map[string]ending{"MCP stdio": {how: "loud", does: func(s *scene, r *ryeProcess) { r.out.Close(); closes(s, r) }}}},
		{name: "end of the input", in: map[string]ending{"terminal": {does: types("\x04")}, "MCP stdio": {does: closes, most: time.Second}},
			not: map[string]string{"terminal/planted file": "rye run does not read the terminal while a tool runs", "MCP HTTP": "the server does not read its input", "thread": "it has no input"}, core: []string{"MCP stdio"}},
		{name: "end of the input, of a tool that stays", in: map[string]ending{"MCP stdio": {does: closes, how: "stubborn", most: 3 * time.Second}}},
		{name: "lost terminal", in: map[string]ending{"terminal": {gone: true, does: func(_ *scene, r *ryeProcess) { r.master.Close() }}},
			not: map[string]string{"MCP stdio": "it has pipes; one that a terminal started gets SIGHUP", "MCP HTTP": "one that a terminal started gets SIGHUP", "thread": "it has a session of its own"}, core: []string{"terminal"}},
		{name: "the client's close, TERM, KILL", in: map[string]ending{"MCP stdio": {how: "stubborn", most: 4 * time.Second, does: func(s *scene, r *ryeProcess) { closes(s, r); byTheBook(2*time.Second)(s, r) }},
			"MCP HTTP": {how: "client,stubborn", gone: true}, "thread": {does: func(s *scene, _ *ryeProcess) { s.rye("thread", "kill", s.newest().ID) }}},
			not: map[string]string{"terminal": "there is no client"}},
		{name: "the client's close right after its call, TERM, KILL", in: map[string]ending{"MCP stdio": {how: "stubborn", most: 2200 * time.Millisecond,
			first: func(_ *scene, r *ryeProcess) { r.in.Close() }, does: byTheBook(2 * time.Second)}}, core: []string{"MCP stdio"}},
		{name: "the same with 5 s between", in: map[string]ending{"MCP stdio": {how: "stubborn", most: 5200 * time.Millisecond,
			first: func(_ *scene, r *ryeProcess) { r.in.Close() }, does: byTheBook(5 * time.Second)}}},
		{name: "close, and TERM soon", in: map[string]ending{"MCP stdio": {how: "stubborn", most: 2 * time.Second, does: func(s *scene, r *ryeProcess) { closes(s, r); r.signal(syscall.SIGTERM) }}}},
		{name: "a crash (SIGSEGV)", in: everywhere(ending{does: signals(syscall.SIGSEGV), killed: true})},
		{name: "a crash (SIGABRT)", in: everywhere(ending{does: signals(syscall.SIGABRT), killed: true}), core: []string{"MCP stdio"}},
		{name: "SIGKILL of the engine", in: everywhere(ending{does: signals(syscall.SIGKILL), how: "stubborn", killed: true}), core: []string{"thread"}},
		{name: "SIGKILL of everything", in: everywhere(ending{does: func(s *scene, r *ryeProcess) { killTree(r.cmd.Process.Pid) }, killed: true}), core: []string{"terminal"}},
	}
	for i := range all {
		r := &all[i]
		if r.not == nil {
			r.not = map[string]string{}
		}
		r.not["MCP HTTP/open question"] = answered
		for _, p := range venues {
			if _, ok := r.in[p]; !ok && r.not[p] == "" && r.not[p+"/planted file"] == "" {
				r.not[p] = otherPlace
			}
		}
	}
	return all
}

// results are the cells of the table.
type results struct {
	mu    sync.Mutex
	cells map[string]string
}

func (r *results) set(t *testing.T, row, place string, states ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range states {
		r.cells[row+"/"+place+"/"+s] = "passed"
		if t.Failed() {
			r.cells[row+"/"+place+"/"+s] = "FAILED"
		}
	}
}

// print shows the table, a line for each ending and place.
func (r *results) print(t *testing.T, rows []row) {
	var b strings.Builder
	counts := map[string]int{}
	for _, row := range rows {
		for _, p := range venues {
			if row.not[p] == otherPlace {
				continue
			}
			fmt.Fprintf(&b, "\n%-52s %-10s", row.name, p)
			for _, s := range states {
				why := row.not[p]
				if why == "" {
					why = row.not[p+"/"+s]
				}
				if s == states[1] && why == "" {
					why = row.not[p+"/"+states[0]]
				}
				is := r.cells[row.name+"/"+p+"/"+s]
				switch {
				case is != "":
				case why != "":
					is = "not possible (" + why + ")"
				default:
					is = "in make soak"
				}
				kind, _, _ := strings.Cut(is, " (")
				counts[kind]++
				fmt.Fprintf(&b, "  %s: %s", s, is)
			}
		}
	}
	t.Logf("%v%s", counts, b.String())
}

// TestEndings: nothing of a run is left, however it ends, wherever rye runs it, and whatever is under way then.
// It prints a table of each ending, place and state. RYE_SOAK=1 tries all cells.
func TestEndings(t *testing.T) {
	t.Parallel()
	rows, r := endings(), &results{cells: map[string]string{}}
	t.Run("all", func(t *testing.T) {
		for _, place := range venues {
			t.Run(place, func(t *testing.T) {
				t.Parallel()
				s := newScene(t)
				p := map[string]interface {
					works(s *scene, e ending)
					asks(s *scene, e ending)
				}{"terminal": onTerminal{}, "MCP stdio": overPipes{}, "MCP HTTP": overHTTP{s.token("test")}, "thread": inThread{}}[place]
				s.lists("test")
				s.write(".ai/directives/acme/tidy.md", tidyDirective)
				for _, row := range rows {
					e, ok := row.in[place]
					if !ok || !soak && !slices.Contains(row.core, place) {
						continue
					}
					e.name = row.name
					if row.not[place+"/planted file"] == "" {
						t.Run(row.name+"/a tool runs", func(t *testing.T) {
							s.t, s.home.t = t, t
							p.works(s, e)
							r.set(t, row.name, place, "planted file", "running child")
						})
					}
					if row.not[place+"/open question"] == "" {
						t.Run(row.name+"/rye asks", func(t *testing.T) {
							s.t, s.home.t = t, t
							p.asks(s, e)
							r.set(t, row.name, place, "open question")
						})
					}
				}
			})
		}
	})
	r.print(t, rows)
}

type onTerminal struct{}

func (onTerminal) works(s *scene, e ending) {
	if e.piped {
		cmd := s.command("run", "tool:acme/plant", "-p", "x="+s.mark+","+e.how)
		out, theirs, err := os.Pipe()
		if err != nil {
			s.t.Fatal(err)
		}
		cmd.Stdout = theirs
		r := s.begin(cmd, &ryeProcess{out: out}, theirs)
		s.begun()
		s.endsIn(r, e)
		s.clean(true, e.killed)
		return
	}
	r := s.at("run", "tool:acme/plant", "-p", "x="+s.mark+","+e.how)
	s.begun()
	s.endsIn(r, e)
	s.clean(true, e.killed)
}

// asks: rye asks whether a tool may run, and whether what it left should come back.
func (onTerminal) asks(s *scene, e ending) {
	r := s.at("run", "tool:acme/asks", "-p", "x="+s.mark)
	r.shows(s.t, "[y/N]")
	s.endsIn(r, e)
	s.clean(false, e.killed)
	r = s.at("run", "tool:acme/plant", "-p", "x="+s.mark+",brief")
	r.shows(s.t, "[y/N]")
	if _, err := os.Lstat(filepath.Join(s.dir, ".envrc")); err == nil {
		s.t.Error("the file is there while rye asks")
	}
	s.endsIn(r, e)
	if e.killed {
		s.exit("list")
	}
	s.clean(true, false)
}

type overPipes struct{}

func (overPipes) works(s *scene, e ending) {
	r, answers := s.mcpClient("plant", e.how)
	if e.first != nil {
		e.first(s, r)
	}
	s.begun()
	if e.how != "soon" {
		go io.Copy(io.Discard, answers)
	}
	s.endsIn(r, e)
	s.clean(true, e.killed)
}

func (overPipes) asks(s *scene, e ending) {
	r, answers := s.mcpClient("asks", "")
	for {
		line, err := answers.ReadString('\n')
		if err != nil {
			s.t.Fatal("the client was not asked: ", err)
		}
		if strings.Contains(line, "elicitation/create") {
			break
		}
	}
	go io.Copy(io.Discard, answers)
	if e.first != nil {
		e.first(s, r)
	}
	s.endsIn(r, e)
	s.clean(false, e.killed)
}

type overHTTP struct{ token string }

// works starts a server, and calls the tool. If gone is set, the client goes and the server stays.
func (p overHTTP) works(s *scene, e ending) {
	served := s.serveHTTP()
	r := &ryeProcess{cmd: served.cmd, ended: served.ended}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"acme/plant","parameters":{"x":%q}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`, s.mark+","+e.how)
	q, err := http.NewRequestWithContext(ctx, "POST", served.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for k, v := range map[string]string{"Authorization": "Bearer " + p.token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "execute"} {
		q.Header.Set(k, v)
	}
	go func() {
		if res, err := http.DefaultTransport.RoundTrip(q); err == nil {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}()
	s.begun()
	if e.gone {
		cancel()
		if s.clean(true, false); s.t.Failed() {
			s.t.Log(served.stderr())
		}
		s.endsIn(r, ending{does: signals(syscall.SIGTERM)})
		return
	}
	s.endsIn(r, e)
	s.clean(true, e.killed)
}

func (overHTTP) asks(*scene, ending) {}

type inThread struct{}

func (p inThread) works(s *scene, e ending) {
	r := p.start(s, "plant", e.how, s.begun)
	s.endsIn(r, e)
	s.clean(true, e.killed)
}

func (p inThread) asks(s *scene, e ending) {
	r := p.start(s, "asks", "", func() {
		s.within(20*time.Second, "the thread asks nothing", func() bool { return s.newest().Question != "" })
	})
	s.endsIn(r, e)
	s.clean(false, e.killed)
}

// start starts a thread that calls a tool, and returns its process when it has come that far.
func (inThread) start(s *scene, tool, how string, far func()) *ryeProcess {
	s.write(".ai/tools/acme/scripted.yaml", scriptedHead+fmt.Sprintf("      - calls: [{name: rye_execute, args: {item_id: \"tool:acme/%s\", parameters: {x: %q}}}]\n      - {say: Done.}\n", tool, s.mark+","+how))
	s.rye("sign", "--all")
	s.rye("thread", "start", "directive:acme/tidy")
	far()
	var info struct {
		Pid int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(s.rye("thread", "list", "--limit", "1", "--json")), &info); err != nil {
		s.t.Fatal(err)
	}
	if info.Pid == 0 {
		s.t.Fatal("the thread has no process")
	}
	p, err := os.FindProcess(info.Pid)
	if err != nil {
		s.t.Fatal(err)
	}
	r := &ryeProcess{cmd: &exec.Cmd{Process: p}, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		for syscall.Kill(info.Pid, 0) == nil && !zombie(info.Pid) {
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return r
}

// TestAnswersAtATerminal: a person says no, or yes, to what rye asks before and after a run.
func TestAnswersAtATerminal(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, c := range []struct{ tool, how, answer string }{{"asks", "", "n"}, {"plant", ",brief", "n"}, {"plant", ",brief", "y"}} {
		t.Run(c.tool+"/"+c.answer, func(t *testing.T) {
			s.t, s.home.t = t, t
			r := s.at("run", "tool:acme/"+c.tool, "-p", "x="+s.mark+c.how)
			r.shows(t, "[y/N]")
			s.endsIn(r, ending{does: types(c.answer + "\n")})
			if _, said := s.exit("status"); strings.Contains(said, "appeared") {
				t.Errorf("after an answer: %s", said)
			}
			if c.answer == "n" {
				s.clean(false, false)
			} else if err := s.has(".envrc", "evil\n"); err != nil {
				t.Error(err)
			}
			os.Remove(filepath.Join(s.dir, "begun"))
		})
	}
}

// TestClientThatCannotAsk: such a client is answered at once, and no question waits in the server.
func TestClientThatCannotAsk(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.lists("test")
	call := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"acme/asks","parameters":{"x":"` + s.mark + `"}}}}
`
	cmd := s.command("mcp")
	cmd.Stdin = strings.NewReader(call)
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "question_id") && !strings.Contains(string(out), "approve") || strings.Contains(string(out), "elicitation/create") {
		t.Errorf("a client that cannot ask: %v, %s", err, out)
	}
	s.clean(false, false)
}

// TestClientGoesAtOnce: a client calls a tool, closes its side at once, and sends TERM and KILL at random moments.
// Whatever had begun by then, nothing is left. RYE_SOAK=1 tries 100.
func TestClientGoesAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first, last := seeds(t, "RYE_GOES_SEEDS", 2, 100)
	for seed := first; seed <= last; seed++ {
		at := func(n uint64) time.Duration { return time.Duration(seed*n%293) * time.Millisecond }
		r, answers := s.mcpClient("plant", []string{"", "stubborn", "brief"}[seed%3])
		go io.Copy(io.Discard, answers)
		time.Sleep(at(71))
		r.in.Close()
		time.Sleep(at(113))
		r.signal(syscall.SIGTERM)
		time.Sleep(at(181))
		r.cmd.Process.Kill()
		<-r.ended
		s.within(10*time.Second, "a process of the run lives", func() bool { return len(s.children()) == 0 })
		s.exit("list")
		s.rye("restore", "--taken", "--dismiss")
		os.Remove(filepath.Join(s.dir, "begun"))
		if s.clean(false, false); t.Failed() {
			t.Fatalf("RYE_GOES_SEEDS=%d", seed)
		}
	}
}
