package cage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A program such as ssh knows no proxy, but starts a command that reaches its host (ProxyCommand,
// ssh_config(5)). rye-cage is that command: it asks rye's proxy for the host by SOCKS 5, and then
// copies. It has no right that the program lacks.

// connect joins standard input and output with a port of a host, over the proxy at an address. It
// returns the exit status.
func connect(proxy, host, port string) int {
	err := tunnel(proxy, host, port, os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "rye-cage: reach %q: %v\n", host, err)
		return 1
	}
	return 0
}

// tunnel copies in both directions until the host ends.
func tunnel(proxy, host, port string, in io.Reader, out io.Writer) error {
	at, err := netip.ParseAddrPort(proxy)
	if err != nil || !at.Addr().Is4() {
		return fmt.Errorf("proxy %q: want an IPv4 address with a port", proxy)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return fmt.Errorf("port %q: want a number from 1 to 65535", port)
	}
	ask, err := socksRequest(host, uint16(number))
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	conn := os.NewFile(uintptr(fd), "proxy")
	defer conn.Close()
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		return fmt.Errorf("rye's proxy: %w", err)
	}
	if err := askSocks(conn, ask); err != nil {
		return err
	}
	go func() {
		if _, err := io.Copy(conn, in); err == nil {
			unix.Shutdown(fd, unix.SHUT_WR)
		}
	}()
	_, err = io.Copy(out, conn)
	return err
}

// socksRequest is the greeting and the request of SOCKS 5 (RFC 1928), for a name or an address. No
// answer decides about the second part, so both go at once.
func socksRequest(host string, port uint16) ([]byte, error) {
	ask := []byte{5, 1, 0, 5, 1, 0}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	switch {
	case err == nil && a.Is4():
		ask = append(append(ask, 1), a.AsSlice()...)
	case err == nil && a.Zone() == "":
		ask = append(append(ask, 4), a.AsSlice()...)
	case host == "" || len(host) > 255:
		return nil, errors.New("want a name of 1 to 255 bytes")
	default:
		ask = append(append(ask, 3, byte(len(host))), host...)
	}
	return binary.BigEndian.AppendUint16(ask, port), nil
}

// askSocks sends a request and reads the answers: of 2 bytes, and of 10 with an IPv4 address, as rye's
// proxy gives them.
func askSocks(conn io.ReadWriter, ask []byte) error {
	if _, err := conn.Write(ask); err != nil {
		return fmt.Errorf("rye's proxy: %w", err)
	}
	var answer [12]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return fmt.Errorf("rye's proxy gave no answer: %w", err)
	}
	switch code := answer[3]; {
	case answer[0] != 5 || answer[1] != 0 || answer[2] != 5 || answer[5] != 1:
		return errors.New("rye's proxy gave another answer than one of SOCKS 5")
	case code == 2:
		return errors.New("rye refused the connection; the result of the run says why")
	case code != 0:
		return errors.New("rye could not connect; the result of the run says why")
	}
	return nil
}
