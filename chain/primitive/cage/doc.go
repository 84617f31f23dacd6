// Package cage confines a process. On a thread of the calling program (Bounds) it sets
// rules about files (Landlock) and system calls (seccomp) and gives up rights, so that the
// thread's children never had them. In namespaces (Start) rye-cage (Main), a program of
// its own, makes a view of files, processes and network that holds only granted things. It
// stays as their first process and starts the confined program.
//
// Go cannot make a user namespace in a running program, because that takes a process of
// one thread. It can start another program in one, but has the page tables of the one that
// asks copied for that: 3 ms at 30 MB, 20 ms at 300. So Start makes the process itself: it
// shares the memory, and until it is rye-cage does nothing but system calls (calls). What
// it becomes is small, and starts in 1 ms.
//
// It decides nothing: it is told what to mount, grant and limit, and either does all of
// it or says why not.
//
// # Reasons
//
// S3 is S2 inside namespaces. Bind mounts alone are weaker than S2 in places: they know no
// right to execute and no ports. Mounts add what Landlock cannot express (modes, times,
// names, a protected place inside a writable one), and a namespace makes harmless what
// seccomp can only refuse (shared memory, priorities).
//
// rye-cage is ours. bubblewrap is an external program of any version, found outside of
// PATH; our own program had to start between it and the tool to set the rest. It cannot
// report at the end which of its mounts are still there, and cannot be told by descriptors
// what to show.
//
// The new process runs no Go code before its exec. syscall starts a program in a new user
// namespace from a copy of the caller, 3 ms at 30 MB and 20 at 300, and a small helper is
// a second start of a runtime, 1.4 ms. So thirty lines of assembler walk a list of system
// calls that Go prepared, without a stack and with signals blocked, in shared memory. The
// list is short: wait for the maps of users, keep three capabilities, set four
// descriptors, start rye-cage. A list of the mounts too would save one more start and be a
// second language. Where the superuser acts as another user the memory is copied, because
// for a moment it would belong to that user.
//
// rye asks rye-cage over a socket, because the first process of a namespace receives only
// signals that it handles, and os/signal takes 0.25 ms and three threads. rye-cage reports
// the end of the program when it alone is left; rye does not wait for the kernel to remove
// mounts and network (0.4 ms).
//
// For root's tool /etc is mounted with its owners mapped to no user (idmapped), so root is
// one of the others there, whatever comes later. Landlock alone took a rule for each of
// 240 neighbours of /etc/shadow, and mounts over such files vanish when the system
// replaces them. Where overlayfs forbids the mount, or the tool may write in /etc,
// Landlock rules do it.
//
// The thread that starts the tool ends. It has the tool's own bounds, so the tool could
// signal it and crash the first process of its namespaces.
package cage
