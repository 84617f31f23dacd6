// Package ward finds files in a project that other programs execute by themselves. They
// can so be read-only during a run, and new ones are taken away when the run is over.
//
// A person who enters a directory, opens it in an editor or starts an agent in it, runs
// programs there: a git hook, an .envrc, tasks of an editor, servers of an agent. A tool
// that can write such a file needs no way out of a sandbox; it waits. A mount can cover a
// file that exists. It cannot cover one that does not, and a name that is covered can be
// walked around:
//
//	mv sub s2; mkdir -p sub/.git/hooks
//
// So the project is looked at twice. Look, before the run, lists the places to cover, and
// remembers them by inode. After, when the last process has ended, looks again: an entry
// that is new, lies elsewhere, or changed although it was covered, is moved out of the
// project. Until then it lies there, and a program outside can meet it.
//
// The table in names.go lists the names. Git directories are known by their content and
// not by their names. Both looks follow no link, open neither pipes nor devices, enter no
// other file system, and are bounded: they report the places that they did not see.
//
// # Reasons
//
// Things that run by themselves are protected, things that run by name are not. A hook, an
// .envrc, tasks of an editor and servers of an agent run because someone entered, opened
// or pushed a directory. A Makefile, scripts of package.json, tests and build.rs run
// because someone started a build: they are the source that a tool is there to change.
// Protecting both would make every tool ask for everything. In between we decided one by
// one. .env is data and written daily, so it is not protected. .tool-versions, mise and
// rustup take paths of programs, so they are; .nvmrc chooses among installed versions, so
// it is not. In a virtual environment the files are protected that a shell or every start of
// Python executes (activate, *.pth), and the packages are not. A tool that names pyvenv.cfg in
// needs.write makes the environment, and may write them. Files that a protected file leads to
// are followed only on git's own ways: links, gitdir:, commondir, core.hooksPath.
//
// AGENTS.md and CLAUDE.md count as programs, because agents obey them. A tool that edits
// them names them in needs.write. The case of the name counts: a page agents.md may be
// about agents.
//
// There are two looks and no watch. inotify misses a directory that is moved in, needs a
// watch for each directory, and loses events. The second look goes by inode: the same path
// with another inode is new, and the same inode elsewhere was moved.
//
// A directory is read again unless device, inode and ctime are unchanged, and only file
// systems of this kernel are remembered: no program sets a ctime there, while over sshfs
// it is the mtime. Directories read within a tick of their change are read again. 1,000
// directories take 7 µs each when all are read and 1.2 when none is.
//
// Where nothing can be mounted, Remember notes every name in the protected things just before the
// run: inode, size, permissions and ctime, and the bytes of files that are as young as a tick of
// the clock. Times alone cannot tell what a person wrote just before from what the run wrote.
// 5,000 files take 17 ms.
//
// New directories have a bound twenty times as high, because a run could hide one behind a
// thousand others. Entries beyond the bound before the run are never taken for new after
// it.
//
// A directory that became a git directory loses only the entries that made it one: taking
// the whole would let a tool move a person's source away. A config is reduced to the dozen
// keys that a new repository and a clone have, because git has hundreds that name
// programs. Everything is moved and nothing removed: its owner may have changed a file in
// an editor.
package ward
