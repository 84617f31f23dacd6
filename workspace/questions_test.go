package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace"
)

// deaf is a person with a tool that is asked about, whose programs have no way to ask.
func deaf(t *testing.T) *person {
	p := project(t)
	p.write("tools/acme/greet.sh", strings.Replace(greet, "# category", "# tier: t3\n# category", 1))
	p.sign("tool:acme/greet")
	p.o.Consent = func(_ context.Context, q rye.Question) (bool, error) {
		if q.Person {
			return p.looks, nil
		}
		return false, fault.New(fault.Denied, "%s: nobody can be asked", q.Topic)
	}
	p.Workspace = workspace.Open(p.o)
	return p
}

func (p *person) asks1(name, to string) (*rye.ExecuteResult, error) {
	raw, err := json.Marshal(map[string]string{"name": to})
	if err != nil {
		p.t.Fatal(err)
	}
	return p.Execute(p.t.Context(), rye.Program(name, "rye.execute.*"), rye.ExecuteRequest{Ref: refOf("tool:acme/greet"), Params: raw})
}

func (p *person) open() []rye.OpenQuestion {
	p.t.Helper()
	all, err := p.Policy().Questions(p.t.Context(), rye.Terminal())
	if err != nil {
		p.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(q rye.OpenQuestion) bool { return q.Answer != "" })
}

// A caller that asks without end pushes out its own questions and nobody else's.
func TestQuestionsOfOneCallerAreBounded(t *testing.T) {
	p := deaf(t)
	if _, err := p.asks1("quiet", "x"); !fault.Is(err, fault.Denied) {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := p.asks1("loud", fmt.Sprint(i)); !fault.Is(err, fault.Denied) {
			t.Fatal(err)
		}
	}
	n := map[string]int{}
	all := p.open()
	for _, q := range all {
		n[q.Caller]++
	}
	if n["quiet"] != 1 || n["loud"] != 32 || !strings.Contains(strings.Join(all[len(all)-1].Lines, "\n"), `name = "49"`) {
		t.Errorf("open are %v", n)
	}
}

// A yes is for the caller who asked, lets one of many through, and ends.
func TestAYesCountsOnce(t *testing.T) {
	p := deaf(t)
	p.looks = true
	agree := func() {
		t.Helper()
		if _, err := p.asks1("robot", "x"); !fault.Is(err, fault.Denied) || !strings.HasPrefix(fault.HintOf(err).String(), "rye approve ") {
			t.Fatalf("unasked: %v", err)
		}
		rep, err := p.Policy().Answer(t.Context(), rye.Terminal(), rye.AnswerRequest{ID: p.open()[0].ID})
		if err != nil || rep.Answer != "yes" {
			t.Fatalf("answer: %+v, %v", rep, err)
		}
	}
	agree()
	if _, err := p.asks1("other", "x"); !fault.Is(err, fault.Denied) {
		t.Errorf("another caller: %v", err)
	}
	var ran atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := p.asks1("robot", "x"); err == nil {
				ran.Add(1)
			} else if !fault.Is(err, fault.Denied) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if ran.Load() != 1 {
		t.Errorf("one yes ran %d times", ran.Load())
	}
	// What nobody used in a day is over.
	for _, q := range p.open() {
		if _, err := p.Policy().Answer(t.Context(), rye.Terminal(), rye.AnswerRequest{ID: q.ID, No: q.Caller != "robot"}); err != nil {
			t.Fatal(err)
		}
	}
	now := p.o.Now
	p.o.Now = func() time.Time { return now().Add(25 * time.Hour) }
	p.Workspace = workspace.Open(p.o)
	if _, err := p.asks1("robot", "x"); !fault.Is(err, fault.Denied) {
		t.Errorf("a yes of yesterday: %v", err)
	}
	if all := p.open(); len(all) != 1 {
		t.Errorf("open are %+v", all)
	}
	// Nothing is left of what is over, nor of an answer to what is gone.
	dir := filepath.Join(p.record(), "questions")
	if err := os.WriteFile(filepath.Join(dir, strings.Repeat("0", 26)+".answer"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.asks1("robot", "y")
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 2 {
		t.Errorf("left are %q, %v", left, err)
	}
}

// Only a person answers, whatever a program holds.
func TestProgramsDoNotAnswer(t *testing.T) {
	p := deaf(t)
	p.looks = true
	p.asks1("robot", "x")
	id := p.open()[0].ID
	for _, no := range []bool{false, true} {
		_, err := p.Policy().Answer(t.Context(), rye.Program("robot", "rye.*"), rye.AnswerRequest{ID: id, No: no})
		wantCode(t, "a program answers", err, fault.Denied)
	}
	p.looks = false
	_, err := p.Policy().Answer(t.Context(), rye.Terminal(), rye.AnswerRequest{ID: id})
	wantCode(t, "a person who does not look", err, fault.Denied)
	if len(p.open()) != 1 {
		t.Error("it was answered")
	}
}

// Without a data directory there are no records, and nothing is allowed because of that.
func TestQuestionsWithoutARecord(t *testing.T) {
	p := deaf(t)
	p.o.DataDir = ""
	p.Workspace = workspace.Open(p.o)
	_, err := p.asks1("robot", "x")
	wantCode(t, "no place for a question", err, fault.Denied)
	if len(p.open()) != 0 {
		t.Error("there is a question")
	}
}
