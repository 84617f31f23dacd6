//go:build unix

package run

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
)

// waits are verbs of which one waits until it is told to end.
type waits struct {
	rye.Verbs
	begun chan struct{}
	why   error
}

func (w *waits) Execute(ctx context.Context, _ rye.Caller, _ rye.ExecuteRequest) (*rye.ExecuteResult, error) {
	close(w.begun)
	<-ctx.Done()
	time.Sleep(50 * time.Millisecond) // to end takes a moment
	w.why = context.Cause(ctx)
	return nil, w.why
}

// TestEnd: what goes on is ended and waited for, and who kept the other end hears nothing more,
// wherever no namespace ends it.
func TestEnd(t *testing.T) {
	verbs := &waits{begun: make(chan struct{})}
	var call primitive.Call
	l, err := openLine(context.Background(), called{verbs: verbs, caller: rye.Client(), needs: []string{"rye.execute.*"}, asked: &rye.ExecuteRequest{}, now: time.Now()}, &call)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(call.Back.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	kept := os.NewFile(uintptr(fd), "kept")
	defer kept.Close()
	io.WriteString(kept, `{"id":"1","verb":"execute","params":{"item_type":"tool","item_id":"acme/x"}}`+"\n"+`{"id":"2","verb":"exec`)
	<-verbs.begun
	l.end()
	if !errors.Is(verbs.why, errRunEnded) {
		t.Errorf("it was ended for %v, and not waited for", verbs.why)
	}
	l.end() // twice is once
	in := bufio.NewReader(kept)
	if hello, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(hello, `{"v":1,`) {
		t.Errorf("%q, %v", hello, err)
	}
	if more, err := in.ReadString('\n'); err == nil {
		t.Errorf("afterwards: %q", more)
	}
	if _, err := call.Back.Write([]byte("x")); err == nil {
		t.Error("its end is open here")
	}
}

// TestOpenOnlyForWhoDeclares: no other run costs anything.
func TestOpenOnlyForWhoDeclares(t *testing.T) {
	var call primitive.Call
	l, err := openLine(context.Background(), called{verbs: &waits{}, caller: rye.Terminal(), asked: &rye.ExecuteRequest{}}, &call)
	if l != nil || err != nil || call.Back != nil || call.Env != nil {
		t.Errorf("%v, %v, %+v", l, err, call)
	}
	l.end()
}

// TestGrant: a caller hands on what it has, and no more.
func TestGrant(t *testing.T) {
	for _, c := range []struct {
		caller    rye.Caller
		needs     string
		name      string
		may, deny string
	}{
		{rye.Terminal(), "rye.execute.tool.a.* rye.sign.*", "run", "rye.execute.tool.a.*", "rye.sign.*"},
		{rye.Inside(), "rye.load.*", "run", "rye.load.*", ""},
		{rye.Client(), "rye.sign.tool.a", "mcp", "rye.sign.tool.a", ""},
		{rye.Program("p", "rye.execute.tool.a.*", "rye.load.tool.b"), "rye.execute.* rye.load.tool.* rye.search.*", "p", "rye.execute.tool.a.* rye.load.tool.b", "rye.execute.* rye.load.tool.* rye.search.*"},
		{rye.Program("p"), "rye.execute.*", "p", "", "rye.execute.*"},
	} {
		r := called{caller: c.caller, needs: strings.Fields(c.needs), asked: &rye.ExecuteRequest{}}
		g, err := r.grant(time.Time{})
		if err != nil || g.Caller.Name() != c.name || g.Caller.IsPerson() || strings.Join(g.Caller.Capabilities(), " ") != c.may || strings.Join(g.Denied, " ") != c.deny {
			t.Errorf("%s asks for %s: %+v, %v", c.caller.Name(), c.needs, g, err)
		}
	}
}
