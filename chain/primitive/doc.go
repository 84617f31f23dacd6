// Package primitive runs one given program and nothing else: with one argument vector, in
// an environment made from nothing, inside the limits of the request. It decides nothing;
// its callers have decided who may run it.
//
// Four tiers exist here. S0 is a clean environment, file descriptors 0 to 2 only and a
// session of its own. S1 adds resource limits, no_new_privs, no capabilities beyond those
// for files, and a umask. S2 adds the kernel's rules about files (Landlock) and system
// calls (seccomp). S3 is S2 in namespaces, whose first process is rye-cage (package cage):
// a view of the file system with granted places and nothing else, no other processes, and
// a network of its own where none is needed. A tier that was asked for and cannot be given
// is an error; what a given tier does not bind is named in the result, and beforehand by
// Foresee. docs/security.md, "Execution and the sandbox", lists both.
//
// # Reasons
//
// Landlock, seccomp and no_new_privs belong to a thread and are inherited by its children,
// so a thread is confined, starts the tool, and is thrown away. To execute oneself again
// and confine that process costs 4 ms. A goroutine that is locked to its thread and never
// unlocks ends the thread, and Go starts new threads from a clean one, so nothing leaks.
// The main thread is never used, since it cannot end. The thread stays until the child was
// reaped, because Pdeathsig fires when the parent thread dies. bash takes 1.01 ms by
// os/exec, 1.15 under S0, 1.24 under S1, 1.88 under S2.
//
// Limits are set by prlimit while the child stands at its exec. setrlimit belongs to the
// whole process, and prlimit after the start comes some microseconds late. So the child
// asks to be traced, stops at exec, gets its limits and is released. That is why the
// filter allows exactly PTRACE_TRACEME and PTRACE_DETACH, which read and write nothing.
// Where tracing is forbidden (Yama 2, some containers, under strace) limits come late and
// the result says so.
//
// The filter is a deny list. An allow list breaks with every C library and runtime, and
// people then switch sandboxes off. Landlock has the rules about files; seccomp closes the
// rest: sockets other than TCP, other processes, namespaces, kernel interfaces. clone3
// answers ENOSYS because its flags are in memory, and C libraries fall back to clone.
//
// AF_UNIX sockets are refused even with network: ssh-agent, gpg-agent, docker and D-Bus
// are one connect away from every key, and Landlock of the kernels in use does not cover
// them. Connected stream pairs stay, since event loops need them; datagram pairs can be
// aimed anew and do not. `needs: {net: [unix]}` asks for these sockets.
//
// Landlock has no deny rules, so under S2 a project with a protected .ai is granted entry
// by entry, without links, and nothing new can be made directly in its root. A tool that
// makes files there declares a directory. We found no way around this that keeps a tool
// from renaming .ai.
//
// Root keeps four capabilities (chown, dac_override, fowner, fsetid), because half of all
// containers run as root over other people's files.
//
// A process that starts its own session leaves the process group. As a child subreaper rye
// becomes the parent of everything that falls out of a run, and kills it at the end. It
// knows a tool's processes by no_new_privs and filters, which they cannot shake off, so
// rye's own ssh or git is safe. It changes the whole process, so programs ask for it
// (AdoptOrphans) and libraries do not.
//
// No code waits for just any child, except the first process of a namespace. Runs go on at
// once, and wait4(-1) would take the end of a program from the call that runs it. A
// program that has ended is no orphan until its call has collected it.
//
// A run is known by a hard limit on real-time processor time. Parent, session and group
// change, an environment can be overwritten, cgroups need delegation, and a process
// namespace changes signals. Every descendant inherits this limit, none can raise it, and
// it means nothing at 2^61 µs. So any process can find the processes of a run: this one at
// its end, the next rye after a kill. A guard as the tool's parent would cost every run 4
// ms. So the guard is a second process that finds the runs by their mark; it starts after
// 20 ms, once for all runs of a process, and ends with the last.
//
// The table of acts in the tests states an answer for each tier and user, without a
// sandbox too, and looks at the victim as well as at the kernel's answer. A test in which
// everything is refused also passes when the tool does not start.
//
// Output keeps its first and its last half: the first shows the work, the last the reason for
// its end. Interpreters are found by the layouts of their managers: `pyenv which` costs
// 300 ms and answers by files of the current directory. Scripts never run as interpreters. Standard input is a pipe with a goroutine that ends with the run, so a tool
// that never reads blocks no one.
package primitive
