package primitive

import "github.com/rye-os/rye/chain/primitive/cage"

// ConnectPath is rye-cage for a program with a tunnel (Doors.Tunnel).
const ConnectPath = cage.ConnectPath

// tunnel reports whether the program gets rye-cage, to reach hosts over the proxy.
func (c *Call) tunnel() bool {
	return c.Sandbox.own() && c.Doors.Serve != nil && c.Doors.Tunnel.IsValid() && cageProgram() != ""
}

// sshCommand has git reach hosts over the proxy. ssh reads no variable for one.
func sshCommand(c *Call) string {
	return "ssh -o ProxyCommand='" + ConnectPath + " connect " + c.Doors.Tunnel.String() + " %h %p'"
}
