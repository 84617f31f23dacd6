package mcp

import (
	"context"
	"encoding/json"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/view"
)

// How long a call waits for a thread, in seconds: clients give up on a call after about a minute.
const (
	waitSeconds    = 50
	maxWaitSeconds = 600
)

// thread starts a thread for a directive, or finds one that was started, and waits for it for a
// while. The answer holds its result. An unfinished thread goes on; the same call with its
// thread_id waits for it again.
func (s *Server) thread(ctx context.Context, t *task, a executeArgs) (none view.Answer, _ error) {
	if s.o.Threads == nil {
		return none, fault.New(fault.Denied, "this server starts no threads")
	}
	threads, err := s.o.Threads(a.ProjectPath)
	if err != nil {
		return none, err
	}
	wait := float64(waitSeconds)
	if a.WaitSeconds != nil {
		wait = *a.WaitSeconds
	}
	if wait < 0 || wait > maxWaitSeconds {
		return none, fault.New(fault.Usage, "wait_seconds %v: want 0 to %d", wait, maxWaitSeconds)
	}
	info, err := s.taken(ctx, t, threads, a)
	if err != nil || a.DryRun {
		return threadAnswer(info, err)
	}
	if wait > 0 {
		told, stop := context.WithCancel(ctx)
		defer stop()
		go t.follow(told, threads, s.caller(ctx), info.ID)
		resting(ctx, func() {
			info, err = threads.Wait(ctx, s.caller(ctx), rye.WaitRequest{ID: info.ID, Seconds: wait})
		})
	}
	return threadAnswer(info, err)
}

// taken returns the thread that a call starts or names.
func (s *Server) taken(ctx context.Context, t *task, threads rye.Threads, a executeArgs) (*rye.ThreadInfo, error) {
	if a.ThreadID != "" {
		return threads.Thread(ctx, s.caller(ctx), a.ThreadID)
	}
	ref, err := s.ref(ctx, t.verbs, "execute", a.itemArgs)
	if err != nil {
		return nil, err
	}
	if ref.Kind != objects.Directive {
		return nil, fault.New(fault.Usage, "a thread needs a directive; %s is not one", ref)
	}
	return threads.Start(ctx, s.caller(ctx), rye.StartRequest{Ref: ref, Params: a.Parameters, DryRun: a.DryRun})
}

// follow reports the thread's events to the client as progress.
func (t *task) follow(ctx context.Context, threads rye.Threads, c rye.Caller, id string) {
	_ = threads.Follow(ctx, c, rye.FollowRequest{ID: id, Follow: true}, func(e rye.Event) error {
		var d struct{ Tool, Text string }
		if json.Unmarshal(e.Payload, &d) != nil {
			return nil
		}
		switch e.Type {
		case "tool_call_start":
			t.progress.output([]byte(d.Tool + "\n"))
		case "cognition_out":
			t.progress.output([]byte(d.Text + "\n"))
		}
		return nil
	})
}

// threadAnswer returns a thread in the form of an executed directive.
func threadAnswer(info *rye.ThreadInfo, err error) (none view.Answer, _ error) {
	if err != nil {
		return none, err
	}
	raw, err := json.Marshal(info)
	if err != nil {
		return none, err
	}
	res := &rye.ExecuteResult{Status: "success", Type: "directive", ItemID: info.Directive, Data: raw}
	switch info.Status {
	case "running", "waiting":
		res.Instructions = "The thread goes on. Call execute again with thread_id to wait for it."
	case "completed", "created":
	default:
		res.Status, res.Error = "error", "the thread is "+info.Status+": "+info.Why
	}
	return view.Executed(res, false), nil
}
