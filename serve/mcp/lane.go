package mcp

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// account is the user of one or several connections: the process at the other end of the pipes, or
// the holder of a token. It bounds their use of this process.
type account struct {
	name  string // of its token; "" over pipes
	calls *lane  // tools/call
	quick *lane  // every other request
	room  *semaphore.Weighted
	rests *semaphore.Weighted // calls that wait for the client or for a thread, without a turn
	opens *semaphore.Weighted // subscriptions
}

// Bounds of an account. A message takes at least a page, so there are at most queueBytes/leastBytes
// = 16,384 messages.
const (
	queueBytes = 64 << 20 // of running and waiting messages; beyond that, reading stops
	leastBytes = 4 << 10
	restBytes  = queueBytes / 2 // of resting messages, so that there is always room to receive answers
	mostOpen   = 64             // subscriptions
)

func newAccount(name string, o *Options) *account {
	return &account{
		name: name, calls: &lane{free: o.Workers}, quick: &lane{free: o.Workers},
		room: semaphore.NewWeighted(cmp.Or(o.testOnlyRoom, queueBytes)), rests: semaphore.NewWeighted(restBytes), opens: semaphore.NewWeighted(mostOpen),
	}
}

// weight returns the room that a message takes.
func weight(bytes int) int64 { return int64(min(max(bytes, leastBytes), queueBytes)) }

// lane grants a bounded number of turns at once, in the order of the requests.
type lane struct {
	mu    sync.Mutex
	free  int
	queue []func()
}

// enter calls start on a goroutine of its own when its turn comes. start must end the turn with
// leave.
func (l *lane) enter(start func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free == 0 {
		l.queue = append(l.queue, start)
		return
	}
	l.free--
	go start()
}

func (l *lane) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.queue = nil // free the memory of a long queue
		l.free++
		return
	}
	next := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	go next()
}

// again waits for another turn, ahead of those that wait for their first.
func (l *lane) again() {
	l.mu.Lock()
	if l.free > 0 {
		l.free--
		l.mu.Unlock()
		return
	}
	come := make(chan struct{})
	l.queue = append([]func(){func() { close(come) }}, l.queue...)
	l.mu.Unlock()
	<-come
}

// turn is a request's place in a lane.
type turn struct {
	who   *account
	lane  *lane
	bytes int64 // of the request

	came  time.Time // when the request was read
	began bool      // a tool runs for it; guarded by the conn
}

// rest gives up the turn while f waits for something outside this process. It returns false,
// without calling f, if too many calls rest already.
func (t *turn) rest(f func()) bool {
	if t == nil || !t.who.rests.TryAcquire(max(t.bytes, restBytes/mostResting)) {
		return false
	}
	defer t.who.rests.Release(max(t.bytes, restBytes/mostResting))
	t.lane.leave()
	defer t.lane.again()
	f()
	return true
}

// mostResting bounds the resting calls of an account.
const mostResting = 256

type turnKey struct{}

// resting calls f without holding the turn of ctx's request, if possible.
func resting(ctx context.Context, f func()) {
	if t, _ := ctx.Value(turnKey{}).(*turn); !t.rest(f) {
		f()
	}
}
