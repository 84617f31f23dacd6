package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Bounds of a process that reads one pack. The need of a pack follows from its Limits; these
// bounds hold even where that estimate, or a library, is wrong.
const (
	apartMemory = 192 << 20 // bytes, in addition to its memory at the start
	apartCPU    = 60        // seconds of processor time
	apartGC     = "GOMEMLIMIT=144MiB"
)

// ImportApart is Import in a separate process. A pack that makes its reader take too much
// memory or time ends that process, and this one goes on. helper is the command line of a
// program that calls ServeImport with the arguments after it. ImportApart reads pack to its
// end, where Import stops at the end of the pack. When the pack is refused earlier, stop is
// called: it must end a Read that is waiting. A nil stop means that a Read always ends soon.
// The errors are the same as for Import.
func (r *Repo) ImportApart(ctx context.Context, helper []string, pack io.Reader, lim Limits, stop func()) (*Quarantine, error) {
	dir, err := r.newQuarantineDir(ctx)
	if err != nil {
		return nil, err
	}
	q, err := r.importApart(ctx, helper, dir, pack, lim.orDefault(), stop)
	if err != nil {
		r.files.removeAll(dir)
		return nil, fault.Wrap(err, "import pack")
	}
	return q, nil
}

func (r *Repo) importApart(ctx context.Context, helper []string, dir string, pack io.Reader, lim Limits, stop func()) (*Quarantine, error) {
	if len(helper) == 0 {
		return nil, fault.New(fault.Usage, "no program to read it in a separate process")
	}
	repo, err := filepath.Abs(r.dir)
	if err != nil {
		return nil, err
	}
	bounds := fmt.Sprintf("%d,%d,%d,%d,%d", lim.Objects, lim.Bytes, lim.Object, lim.Total, lim.Depth)
	owner, _ := r.files.owner() // any owner will do: the repository is already open
	cmd := exec.CommandContext(ctx, helper[0], append(helper[1:len(helper):len(helper)], bounds, repo, dir, strconv.Itoa(owner))...)
	cmd.Env = []string{apartGC, "GOTRACEBACK=none", "GOMAXPROCS=2"} // none of our own variables
	var said, answer bytes.Buffer
	cmd.Stderr = &cappedWriter{w: &said, left: 2 << 10}
	cmd.Stdout = &cappedWriter{w: &answer, left: int64(lim.Objects)*64 + maxLinks*64 + 8<<10}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fault.Wrap(err, "start the process that reads it")
	}
	fed := make(chan error, 1)
	go func() {
		fed <- feed(in, pack)
		in.Close()
	}()
	end := cmd.Wait() // also closes the pipe, which ends feed unless feed waits for the pack
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	select {
	case broken := <-fed:
		err = errors.Join(err, broken) // this is the cause, whatever the process reports
	default: // refused before its end
		if stop != nil {
			stop()
		}
		<-fed
	}
	switch {
	case err != nil:
		return nil, err
	case end != nil && !bytes.HasPrefix(answer.Bytes(), []byte("error ")):
		return nil, diedReading(end, said.String())
	}
	return r.understand(dir, answer.Bytes())
}

// feed copies the pack to the process and returns the error of reading the pack. The process
// may end earlier; that is no error here.
func feed(in io.Writer, pack io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := pack.Read(buf)
		if n > 0 {
			if _, werr := in.Write(buf[:n]); werr != nil {
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// diedReading returns the error for a process that ended without an answer.
func diedReading(end error, said string) error {
	if strings.Contains(said, "panic:") || strings.Contains(said, "nil pointer") {
		return fault.New(fault.Malformed, "its reader broke on it (%s)", words.Brief(strings.TrimSpace(said)))
	}
	return fault.New(fault.Limit, "reading it took more than %d MiB of memory or %d seconds of processor time (%w)", apartMemory>>20, apartCPU, end)
}

// understand checks the answer of the process and makes the quarantine from it:
//
//	ok <checksum> <name of the pack> <objects> <links known> <ids>
//	<ids, in hexadecimal, of objects that the pack names and does not hold>
//
// or "error <code> <text>". It reads the ids from the files and does not trust the answer.
func (r *Repo) understand(dir string, answer []byte) (*Quarantine, error) {
	line, rest, _ := bytes.Cut(answer, []byte{'\n'})
	if text, ok := bytes.CutPrefix(line, []byte("error ")); ok {
		code, why, _ := strings.Cut(string(text), " ")
		if fault.Code(code).Exit() == fault.Failed.Exit() {
			code = string(fault.Failed)
		}
		return nil, fault.New(fault.Code(code), "%s", why)
	}
	bad := fault.New(fault.Failed, "the process that read it gave no valid answer")
	var sumText, name string
	var objects, named int
	var linked bool
	if n, err := fmt.Sscanf(string(line), "ok %s %s %d %t %d", &sumText, &name, &objects, &linked, &named); err != nil || n != 5 {
		return nil, bad
	}
	sum, err := hex.DecodeString(sumText)
	if _, nameErr := hex.DecodeString(name); err != nil || nameErr != nil || len(sum) != r.format.size() || len(rest) != named*(2*r.format.size()+1) {
		return nil, bad
	}
	file := path.Join(dir, name)
	ids, err := packIDs(r.files, file, r.format, sum, objects)
	if err != nil {
		return nil, err
	}
	q := r.newQuarantine(dir, file, sum, ids)
	q.linked = linked
	for _, f := range strings.Fields(string(rest)) {
		id, err := ParseOID(f)
		if err != nil {
			return nil, bad
		}
		q.outside = append(q.outside, id)
	}
	return q, nil
}

// packIDs reads the ids of a pack from its index. The index must list n objects and name the
// checksum of the pack.
func packIDs(in *files, name string, f Format, sum []byte, n int) ([]OID, error) {
	p := &pack{files: in, path: name, format: f}
	defer p.close()
	if err := p.open(true); err != nil {
		return nil, err
	}
	if got, err := p.idx.packSum(); err != nil || !bytes.Equal(got, sum) || p.idx.n != int64(n) {
		return nil, fault.New(fault.Integrity, "its index differs from the one that was made from it")
	}
	ids := make([]OID, n)
	for i := range ids {
		var err error
		if ids[i], err = p.idx.id(int64(i)); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// ServeImport is the other side of ImportApart. It reads a pack from in, within the bounds in
// args, and writes the answer to out. The result is the exit status.
func ServeImport(args []string, in io.Reader, out io.Writer) int {
	w := bufio.NewWriter(out)
	defer w.Flush()
	if err := serveImport(args, in, w); err != nil {
		fmt.Fprintf(w, "error %s %s\n", fault.CodeOf(err), strings.ReplaceAll(err.Error(), "\n", " "))
		return 1
	}
	return 0
}

func serveImport(args []string, in io.Reader, out io.Writer) error {
	var lim Limits
	if len(args) != 4 {
		return fault.New(fault.Usage, "only rye itself reads a pack in a separate process")
	}
	if n, err := fmt.Sscanf(args[0], "%d,%d,%d,%d,%d", &lim.Objects, &lim.Bytes, &lim.Object, &lim.Total, &lim.Depth); n != 5 || err != nil {
		return fault.New(fault.Usage, "only rye itself reads a pack in a separate process")
	}
	if err := confine(lim); err != nil {
		return fault.New(fault.Failed, "bound the process that reads it: %w", err)
	}
	r, err := open(args[1], func(uid int) bool { return strconv.Itoa(uid) == args[3] })
	if err != nil {
		return err
	}
	defer r.Close()
	im, err := r.importInto(context.Background(), args[2], in, lim)
	if err != nil {
		return err
	}
	if n, err := in.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		return fault.New(fault.Malformed, "bytes after its end")
	}
	outside, linked := im.links.rest(im.ids)
	fmt.Fprintf(out, "ok %x %s %d %t %d\n", im.sum, path.Base(im.out.path), len(im.ids), linked, len(outside))
	for _, id := range outside {
		fmt.Fprintf(out, "%s\n", id)
	}
	return nil
}

// cappedWriter passes on the first left bytes and drops the rest.
type cappedWriter struct {
	w    io.Writer
	left int64
}

func (c *cappedWriter) Write(p []byte) (int, error) {
	n := min(int64(len(p)), c.left)
	c.left -= n
	if _, err := c.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
