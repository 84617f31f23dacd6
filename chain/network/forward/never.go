package forward

import (
	"fmt"
	"net/netip"
	"os"
)

// Some ports of this machine obey whoever reaches them, or are rye's own. No needs and no policy lead
// there. Most agents have sockets of files (ssh-agent, gpg-agent, Docker, D-Bus, tmux, Wayland), which no
// forwarder reaches. These are the ports at which agents also serve.

// testOnlyX is the directory of the sockets of X.
var testOnlyX = "/tmp/.X11-unix"

// agent names the agent at a port of this machine, "" for none.
func agent(port uint16) string {
	switch {
	case port == 2375 || port == 2376: // docs.docker.com/engine/daemon/remote-access
		return "Docker's"
	case port == 6000, port >= 6010 && port < 6064: // X(7), and the displays that sshd(8) forwards
		return "the X server's"
	case port > 6000 && port < 6064: // other programs use these too
		if _, err := os.Lstat(fmt.Sprintf("%s/X%d", testOnlyX, port-6000)); err == nil {
			return "the X server's"
		}
	}
	return ""
}

// never returns why an address of this machine is out of reach for every program; nil if it is not.
func (f *Forwarder) never(to netip.AddrPort) error {
	if f.o.Ours != nil && f.o.Ours(to.Port()) {
		return refusal{fmt.Sprintf("port %d of this machine is rye's own, which no tool reaches", to.Port())}
	}
	if a := agent(to.Port()); a != "" {
		return refusal{fmt.Sprintf("port %d of this machine is %s, which no tool reaches", to.Port(), a)}
	}
	return nil
}
