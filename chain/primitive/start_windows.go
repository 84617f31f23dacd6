package primitive

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// platformEnv returns the variables that programs need to find the system's own files.
func platformEnv() map[string]string {
	root := os.Getenv("SystemRoot")
	return map[string]string{
		"SystemRoot": root,
		"PATH":       root + `\System32;` + root,
		"PATHEXT":    ".COM;.EXE;.BAT;.CMD",
	}
}

type windowsProcess struct {
	job windows.Handle
	*child
}

func start(c *Call, env []string, files []*os.File) (process, []string, error) {
	if err := onlyS0(c); err != nil {
		return nil, nil, err
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
	return &windowsProcess{job, waitFor(p)}, append(unconfined(&c.Sandbox),
		"a process started in the first microseconds may be outside the job that ends it",
	), nil
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

// signal kills at once, because a program without a console receives no softer signal.
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
