package mcp

import (
	"cmp"
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// account is whoever speaks with the server, through one connection or several: the process
// at the other end of the pipes, or the holder of a token. What it may take of this process
// is bounded here.
type account struct {
	name  string // of its token; "" over pipes
	calls *lane  // tools/call
	quick *lane  // every other request
	room  *semaphore.Weighted
	rests *semaphore.Weighted // calls that wait for the client or for a thread, and hold no turn
	opens *semaphore.Weighted // subscriptions
}

// Bounds of an account. A message takes at least a page, so that there are at most
// queueBytes/leastBytes messages, which is 16,384.
const (
	queueBytes = 64 << 20 // of the messages that run or wait; then no more are read
	leastBytes = 4 << 10
	restBytes  = queueBytes / 2 // of those that rest: so there is always room for answers to come in
	mostOpen   = 64             // subscriptions
)

func newAccount(name string, o *Options) *account {
	return &account{
		name: name, calls: &lane{free: o.Workers}, quick: &lane{free: o.Workers},
		room: semaphore.NewWeighted(cmp.Or(o.testOnlyRoom, queueBytes)), rests: semaphore.NewWeighted(restBytes), opens: semaphore.NewWeighted(mostOpen),
	}
}

// weight is what a message takes of the room.
func weight(bytes int) int64 { return int64(min(max(bytes, leastBytes), queueBytes)) }

// lane gives turns, so many at once, in the order in which they were asked for.
type lane struct {
	mu    sync.Mutex
	free  int
	queue []func()
}

// enter calls start on a goroutine of its own when its turn has come. Whoever has the turn
// ends it with leave.
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
		l.queue = nil // a long one is not kept
		l.free++
		return
	}
	next := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	go next()
}

// again waits for another turn, before all that wait for their first.
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
}

// rest gives the turn back while f waits for something that is no work of this process. It
// reports false, and does not call f, when too many rest already.
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

// mostResting is how many calls of an account rest at once.
const mostResting = 256

type turnKey struct{}

// resting calls f without holding the turn of the request that ctx is of, where that may be.
func resting(ctx context.Context, f func()) {
	if t, _ := ctx.Value(turnKey{}).(*turn); !t.rest(f) {
		f()
	}
}
