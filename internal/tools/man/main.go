// Command man writes the manual pages of rye: rye.1, and a page for each command with its
// subcommands. `make man` runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/internal/cli"
)

func main() {
	dir := flag.String("o", "man", "the `directory` for the pages")
	flag.Parse()
	n, err := write(*dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages in %s\n", n, *dir)
}

// write puts the pages into dir, which it makes, and returns their number.
func write(dir string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	all := pages(cli.Tree())
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}
