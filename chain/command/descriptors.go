package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// descriptors holds a shell's open descriptors that are not files: connections, and the commands
// of >(commands).
type descriptors struct {
	sockets map[string]bool // by number or name
	readers map[string]*syntax.ProcSubst
}

// connect records that a descriptor is a connection.
func (ds *descriptors) connect(n string) {
	if ds.sockets == nil {
		ds.sockets = map[string]bool{}
	}
	ds.sockets[n] = true
}

// connected reports whether a descriptor is a connection.
func (ds *descriptors) connected(n string) bool { return ds.sockets[n] }

// attach gives the commands of >(commands) a name.
func (ds *descriptors) attach(name string, p *syntax.ProcSubst) {
	if ds.readers == nil {
		ds.readers = map[string]*syntax.ProcSubst{}
	}
	ds.readers[name] = p
}

// count returns the number of names of commands.
func (ds *descriptors) count() int { return len(ds.readers) }

// reader returns the commands that read from a name, or nil.
func (ds *descriptors) reader(name string) *syntax.ProcSubst { return ds.readers[name] }

// connection reports whether a shell opens a socket for this name.
func connection(p string) bool {
	return strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/")
}
