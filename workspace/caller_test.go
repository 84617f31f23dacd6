package workspace_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust/token"
	"github.com/rye-os/rye/workspace"
)

// verbsOf returns every verb of a workspace and of its groups: "Search", "Keys.List".
func verbsOf(t *testing.T, w *workspace.Workspace) map[string]reflect.Value {
	t.Helper()
	all, caller := map[string]reflect.Value{}, reflect.TypeFor[rye.Caller]()
	var collect func(prefix string, of reflect.Value)
	collect = func(prefix string, of reflect.Value) {
		for i := range of.NumMethod() {
			name, f := prefix+of.Type().Method(i).Name, of.Method(i)
			switch in := f.Type(); {
			case in.NumIn() > 1 && in.In(1) == caller:
				all[name] = f
			case in.NumIn() == 0 && in.NumOut() == 1 && in.Out(0).Kind() == reflect.Struct:
				collect(name+".", f.Call(nil)[0])
			default:
				t.Errorf("%s takes no Caller", name)
			}
		}
	}
	collect("", reflect.ValueOf(w))
	if len(all) < 50 {
		t.Fatalf("only %d verbs were found: is this looking in the right place?", len(all))
	}
	return all
}

// requests are those that succeed for a caller who may; of every other type the zero
// value is sent, because a caller is refused before its request is looked at.
var requests = []any{
	rye.LoadRequest{Ref: refOf("tool:acme/greet")},
	rye.ExecuteRequest{Ref: refOf("tool:acme/greet")},
	"acme/greet",
	rye.NameRequest{Name: "greet", Verb: "load"},
	rye.SignRequest{Targets: []rye.Target{"tool:acme/greet"}},
}

func callVerb(ctx context.Context, verb reflect.Value, c rye.Caller) error {
	in := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(c)}
	for i := 2; i < verb.Type().NumIn(); i++ {
		q := reflect.Zero(verb.Type().In(i))
		for _, r := range requests {
			if reflect.TypeOf(r) == q.Type() {
				q = reflect.ValueOf(r)
			}
		}
		in = append(in, q)
	}
	out := verb.Call(in)
	err, _ := out[len(out)-1].Interface().(error)
	return err
}

// greeter is a project with one signed tool.
func greeter(t *testing.T) *person {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	p.asks = nil
	return p
}

func TestEveryVerbChecksItsCaller(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    rye.Caller
		may  []string
		logs bool // a refused execution is recorded
	}{
		{"the zero Caller", rye.Caller{}, nil, false},
		{"a Program without a name", rye.Program("", "rye.*"), nil, false},
		{"a Program without capabilities", rye.Program("robot"), nil, true},
		{"a Program that may add", rye.Program("robot", "rye.add"), []string{"Add"}, true},
		{"a Program that may uninstall", rye.Program("robot", "rye.self.uninstall"), nil, true},
		{"an MCP client", rye.Client(), []string{"Execute", "Load", "Name", "Record.Approve", "Record.Config", "Search", "Sign"}, false},
		{"a token that was not verified", rye.Thread(token.Verified{}), nil, false},
		{"a thread without capabilities", thread(t, nil, nil), nil, true},
		{"a thread with every capability", thread(t, []string{"rye.*"}, nil), []string{"Execute", "Load", "Name", "Record.Config", "Search", "Sign"}, true},
		{"a thread that is denied every capability", thread(t, []string{"rye.*"}, []string{"rye.*"}), nil, true},
		{"a thread that expired", rye.Thread(expiring{}), nil, false},
		{"a rye within a run", rye.Inside(), []string{"Execute", "Load", "Name", "Record.Config", "Search"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := greeter(t)
			verbs := verbsOf(t, p.Workspace)
			for _, name := range tc.may {
				if verbs[name].Kind() == reflect.Invalid {
					t.Fatalf("there is no verb %s", name)
				}
			}
			kept := func() string {
				if tc.logs {
					return snapshot(t, p.dir) + snapshot(t, p.o.ConfigDir)
				}
				return snapshot(t, p.dir) + snapshot(t, p.home)
			}
			before := kept()
			for _, name := range slices.Sorted(maps.Keys(verbs)) {
				if !slices.Contains(tc.may, name) {
					wantCode(t, name, callVerb(t.Context(), verbs[name], tc.c), fault.Denied)
				}
			}
			if kept() != before {
				t.Error("a refused caller changed something on disk")
			}
			if len(p.asks) != 0 {
				t.Errorf("a refused caller had questions asked: %+v", p.asks)
			}
			for _, name := range tc.may {
				if err := callVerb(t.Context(), verbs[name], tc.c); fault.Is(err, fault.Denied) {
					t.Errorf("%s, which is allowed: %v", name, err)
				}
			}
		})
	}
}

func TestProgramThatMayAddAdds(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	got, err := p.Add(t.Context(), rye.Program("robot", "rye.add"), rye.AddRequest{Path: p.path("tools/acme/greet.sh")})
	if err != nil || len(got) != 1 || got[0].Commit == "" {
		t.Errorf("Add = %+v, %v; want one recorded item", got, err)
	}
}

// A question that is too long to be judged is never put to a person, whichever verb it
// comes from.
func TestLongQuestionsAreNotAsked(t *testing.T) {
	for name, text := range map[string]string{
		"lines":  strings.Repeat("echo again\n", rye.MaxQuestionLines+1),
		"bytes":  strings.Repeat("echo "+strings.Repeat("x", 500)+"\n", rye.MaxQuestionBytes/500+1),
		"a line": "echo " + strings.Repeat("x", rye.MaxLineBytes) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := project(t)
			p.write("tools/acme/greet.sh", greet+text)
			p.asks, p.looks = nil, true
			_, err := p.Sign(t.Context(), rye.Client(), rye.SignRequest{Targets: []rye.Target{"tool:acme/greet"}})
			wantCode(t, "sign for a model", err, fault.Limit)
			_, err = p.run("tool:acme/greet", nil)
			wantCode(t, "run what is unsigned", err, fault.Untrusted)
			for _, q := range p.asks {
				t.Errorf("asked %q: %v", q.Topic, q.Check())
			}
		})
	}
}
