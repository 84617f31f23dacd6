//go:build !windows

package trust

import (
	"context"
	"io"
	"net"
)

func dialAgent(ctx context.Context, sock string) (io.ReadWriteCloser, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", sock)
}
