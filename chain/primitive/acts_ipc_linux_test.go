package primitive

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// System V's commands that the library does not name.
const (
	semSetval = 16
	shmStat   = 13
)

// byNumber turns the answer for a number that is nobody's into one of its own.
func byNumber(err error) error {
	if errors.Is(err, unix.EINVAL) {
		return unix.EIDRM
	}
	return err
}

// listedIPC returns the lines about one number in a file of /proc/sysvipc: key, number, rights and
// what else tells of an object. Other columns have numbers of processes and users, which may be
// the same.
func listedIPC(text string, id int) (all []string) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 5 && f[1] == strconv.Itoa(id) {
			all = append(all, strings.Join(f[:5], " "))
		}
	}
	return all
}

func TestListedIPC(t *testing.T) {
	const head = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n"
	const line = "        41          7  1600                  4096  4711  4712      1  1000    42  1000    42 1767315600 1767315601 1767315602                     0                  8192\n"
	for _, number := range strings.Fields(line) {
		id, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		want := []string(nil)
		if id == 7 {
			want = []string{"41 7 1600 4096 4711"}
		}
		if got := listedIPC(head+line, id); !slices.Equal(got, want) {
			t.Errorf("listedIPC(…, %d) = %q, want %q", id, got, want)
		}
	}
}

// ipcDeeds are about objects that processes of a machine share by number or name.
var ipcDeeds = []deed{
	{"get shared memory by its key", "E14", "aarn", "", func(s *scene) error { return call(unix.SYS_SHMGET, uintptr(s.Key), 0, 0) }},
	{"attach shared memory by its number", "E14", "aarn", "", func(s *scene) error {
		shm, err := unix.SysvShmAttach(s.Shm, 0, unix.SHM_RDONLY)
		if err != nil {
			return byNumber(err)
		}
		return unix.SysvShmDetach(shm)
	}},
	{"write shared memory", "E14", "aarn", "", func(s *scene) error {
		shm, err := unix.SysvShmAttach(s.Shm, 0, 0)
		if err != nil {
			return byNumber(err)
		}
		copy(shm, "evil")
		return unix.SysvShmDetach(shm)
	}},
	{"look at shared memory", "E14", "aarn", "", func(s *scene) error {
		var d [256]byte
		return byNumber(call(unix.SYS_SHMCTL, uintptr(s.Shm), unix.IPC_STAT, uintptr(unsafe.Pointer(&d))))
	}},
	{"find shared memory by counting", "E14", "aarn", "", func(s *scene) error {
		var d [256]byte
		return byNumber(call(unix.SYS_SHMCTL, uintptr(s.Shm&0x7fff), shmStat, uintptr(unsafe.Pointer(&d))))
	}},
	{"remove shared memory", "E14", "aarn", "", func(s *scene) error { return byNumber(call(unix.SYS_SHMCTL, uintptr(s.Shm), unix.IPC_RMID, 0)) }},
	{"make shared memory", "E14", "aarh", whyIsOwn, func(s *scene) error { return call(unix.SYS_SHMGET, uintptr(s.Key+1), 4096, unix.IPC_CREAT|0o600) }},
	{"get a semaphore by its key", "E14", "aarn", "", func(s *scene) error { return call(unix.SYS_SEMGET, uintptr(s.Key), 1, 0) }},
	{"set a semaphore", "E14", "aarn", "", func(s *scene) error { return byNumber(call(unix.SYS_SEMCTL, uintptr(s.Sem), 0, semSetval, 7)) }},
	{"raise a semaphore", "E14", "aarn", "", func(s *scene) error {
		op := [3]uint16{0, 1, 0}
		return byNumber(call(unix.SYS_SEMTIMEDOP, uintptr(s.Sem), uintptr(unsafe.Pointer(&op)), 1, 0))
	}},
	{"raise a semaphore by the old call", "E14", "aarn", "", func(s *scene) error {
		op := [3]uint16{0, 1, 0}
		return byNumber(call(unix.SYS_SEMOP, uintptr(s.Sem), uintptr(unsafe.Pointer(&op)), 1))
	}},
	{"get a queue by its key", "E14", "aarn", "", func(s *scene) error { return call(unix.SYS_MSGGET, uintptr(s.Key), 0) }},
	{"send to a queue", "E14", "aarn", "", func(s *scene) error {
		m := [2]uint64{1, 0}
		return byNumber(call(unix.SYS_MSGSND, uintptr(s.Msg), uintptr(unsafe.Pointer(&m)), 8, unix.IPC_NOWAIT))
	}},
	{"receive from a queue", "E14", "aarn", "", func(s *scene) error {
		var m [64]byte
		return byNumber(call(unix.SYS_MSGRCV, uintptr(s.Msg), uintptr(unsafe.Pointer(&m)), 32, 0, unix.IPC_NOWAIT))
	}},
	{"remove a queue", "E14", "aarn", "", func(s *scene) error { return byNumber(call(unix.SYS_MSGCTL, uintptr(s.Msg), unix.IPC_RMID, 0)) }},
	{"open a POSIX queue", "E14", "aarn", "", func(s *scene) error { return call2(unix.SYS_MQ_OPEN, text(s.Queue), unix.O_RDWR, 0, 0) }},
	{"remove a POSIX queue", "E14", "aarn", "", func(s *scene) error { return call(unix.SYS_MQ_UNLINK, text(s.Queue)) }},
	{"make a POSIX queue", "E14", "aarr", "", func(s *scene) error {
		return call2(unix.SYS_MQ_OPEN, text(s.Queue+"-new"), unix.O_RDWR|unix.O_CREAT, 0o600, 0)
	}},
	{"list what there is of System V", "E14", "nnan", whyNames, func(s *scene) error {
		raw, err := os.ReadFile("/proc/sysvipc/shm")
		if err == nil && len(listedIPC(string(raw), s.Shm)) == 0 {
			return unix.ENOENT
		}
		return err
	}},
}
