package trust

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
)

// dialAgent opens the named pipe of Windows' own agent as a file, and anything else
// as a socket.
func dialAgent(ctx context.Context, sock string) (io.ReadWriteCloser, error) {
	if strings.HasPrefix(sock, `\\.\pipe\`) {
		return os.OpenFile(sock, os.O_RDWR, 0)
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", sock)
}
