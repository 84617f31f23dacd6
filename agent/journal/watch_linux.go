package journal

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// watch sends a call when the system reports a change in a directory. It polls when the system
// cannot: the number of a user's watches is limited.
func watch(dir string) *changes {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return poll(pollEvery)
	}
	const mask = unix.IN_MODIFY | unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW
	if _, err := unix.InotifyAddWatch(fd, dir, mask); err != nil {
		unix.Close(fd)
		return poll(pollEvery)
	}
	f := os.NewFile(uintptr(fd), "inotify")
	c, done, quit := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64<<10)
		for {
			// The event does not matter, because the receiver of the call reads everything.
			_ = f.SetReadDeadline(time.Now().Add(testOnlyLookEvery))
			_, err := f.Read(buf)
			pause := time.Duration(0)
			if err != nil && !os.IsTimeout(err) {
				pause = pollEvery // closed, or unusable
			}
			select {
			case <-quit:
				return
			case <-time.After(pause):
				call(c)
			}
		}
	}()
	return &changes{c, func() { close(quit); f.Close(); <-done }}
}
