package primitive

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/rye-os/rye/fault"
)

// Only S0 exists here; a job object ends what the program started.
func best() Tier { return S0 }

// AdoptOrphans does nothing here: the job of each run holds its descendants.
func AdoptOrphans() error { return nil }

// platformEnv is what programs need to find the system's own files.
func platformEnv() map[string]string {
	root := os.Getenv("SystemRoot")
	return map[string]string{
		"SystemRoot": root,
		"PATH":       root + `\System32;` + root,
		"PATHEXT":    ".COM;.EXE;.BAT;.CMD",
	}
}

type windowsProcess struct {
	job   windows.Handle
	done  chan struct{}
	state *os.ProcessState
	err   error
}

func start(c *Call, env []string, files []*os.File) (process, []string, error) {
	if c.Sandbox.Tier > S0 {
		return nil, nil, fault.New(fault.Denied, "run %s: %s is demanded and this system gives S0", c.Argv[0], c.Sandbox.Tier).Mend("rye doctor")
	}
	job, err := newJob()
	if err != nil {
		return nil, nil, err
	}
	attr := &os.ProcAttr{Dir: c.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}}
	p, err := os.StartProcess(c.Argv[0], c.Argv, attr)
	if err != nil {
		windows.CloseHandle(job)
		return nil, nil, err
	}
	if err := assign(job, p.Pid); err != nil {
		p.Kill()
		p.Wait()
		windows.CloseHandle(job)
		return nil, nil, err
	}
	w := &windowsProcess{job: job, done: make(chan struct{})}
	go func() {
		w.state, w.err = p.Wait()
		close(w.done)
	}()
	return w, []string{
		"files, network and system calls are not restricted below S2",
		"resource limits are not set below S1",
		"a process started in the first microseconds may be outside the job that ends it",
	}, nil
}

// newJob makes a job whose processes end with its last handle, so also when rye is killed.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

func assign(job windows.Handle, pid int) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	return windows.AssignProcessToJobObject(job, h)
}

func (w *windowsProcess) confining() time.Duration { return 0 } // the job is made with the start

func (w *windowsProcess) ended() <-chan struct{} { return w.done }

// signal is hard at once: there is no polite signal that a program without a
// console would receive.
func (w *windowsProcess) signal(bool) { windows.TerminateJobObject(w.job, 1) }

func (w *windowsProcess) sweep() {
	windows.TerminateJobObject(w.job, 1)
	windows.CloseHandle(w.job)
}

func (w *windowsProcess) reap() (int, string, error) {
	if w.err != nil {
		return -1, "", w.err
	}
	return w.state.ExitCode(), "", nil
}
