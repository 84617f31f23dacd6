package primitive

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// stamp gives a process its mark. It returns false if that is impossible: inside another run,
// whose mark cannot be raised, or on a kernel without this limit.
func stamp(pid int, m Mark) bool {
	var old unix.Rlimit
	if m == 0 || unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &old) != nil || old.Max != unix.RLIM_INFINITY {
		return false
	}
	return unix.Prlimit(pid, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: uint64(m), Max: uint64(m)}, nil) == nil
}

// Marked reports whether this process itself belongs to a run. In a sandbox from S2 up nothing
// can remove the mark; below S2, root can.
func Marked() bool {
	var own unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_RTTIME, &own) == nil && Mark(own.Max) >= firstMark && Mark(own.Max) <= lastMark
}

// markOf returns the mark of a process, or 0 for none and for a process that has ended.
func markOf(pid int) Mark {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return 0
	}
	// "Max realtime timeout      <soft>   <hard>   us", proc_pid_limits(5)
	_, rest, ok := bytes.Cut(text, []byte("Max realtime timeout"))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if f := bytes.Fields(line); len(f) >= 2 {
		return parseMark(string(f[1]))
	}
	return 0
}

// marked lists the living processes of a run, without this one.
func marked(m Mark) (pids []int) {
	if m == 0 {
		return nil
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err == nil && pid != os.Getpid() && markOf(pid) == m && !dead(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// dead reports whether a process has ended and is not reaped yet.
func dead(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	i := bytes.LastIndexByte(stat, ')')
	return err != nil || i < 0 || bytes.HasPrefix(stat[i+1:], []byte(" Z")) || bytes.HasPrefix(stat[i+1:], []byte(" X"))
}

// endMarked kills the remaining processes of a run, until a scan of all processes finds none or
// the time is up. It cannot wait for a process that hangs in the kernel.
func endMarked(m Mark, patience time.Duration) {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		pids := marked(m)
		for _, pid := range pids {
			unix.Kill(pid, unix.SIGKILL)
		}
		if len(pids) == 0 || time.Now().After(deadline) {
			return
		}
	}
}
