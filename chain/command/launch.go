package command

import "strings"

// launchers are wrappers that hardly anybody puts before a shell without a script.
const launchers names = "nice ionice time timeout stdbuf nohup setsid taskset flock watch strace ltrace xargs chrt setarch prlimit nsenter start-stop-daemon busybox capsh perf valgrind logsave cpulimit choom softlimit multitime pexec run-parts systemd-run torsocks torify proxychains unbuffer chronic faketime numactl eatmydata linux64 ld.so msgexec msgfilter dash-run pkexec"

// startedBy runs a part of the walk for commands that a program starts. A shell without a script
// is then one that this program gives to its user.
func (m *machine) startedBy(name string, part func()) {
	before := m.by
	m.by = name
	part()
	m.by = before
}

// interactive judges a shell without a script, a file and an input.
func (c *call) interactive() {
	if c.in != (value{}) || c.remote {
		return
	}
	if c.by != "" || option(texts(c.args), "p", "") {
		c.flag("shell-escape", strings.TrimSpace(c.by+": "+c.all))
	}
}
