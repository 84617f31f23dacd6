package hosts

import "testing"

func TestInside(t *testing.T) {
	for host, want := range map[string]string{
		"git.example.org": "", "GIT.Example.org.": "", "8.8.8.8": "", "2606:4700::1111": "", "internal.example.org": "", "local.example.org": "",
		"localhost": "local", "LOCALHOST.": "local", "a.localhost": "local", "intranet": "local", "": "local", "printer.local": "local", "x.home.arpa": "local",
		"metadata.google.internal": "local", "127.0.0.1": "loopback", "127.0.0.1.": "loopback", "::1": "loopback", "fe80::1%eth0": "link-local",
		"169.254.169.254": "cloud metadata", "64:ff9b::a9fe:a9fe": "cloud metadata", "::ffff:10.0.0.1": "private", "100.64.0.1": "shared (carrier NAT)",
		"127.1": "ambiguous", "2130706433": "ambiguous", "0x7f.1": "ambiguous", "0177.0.0.1": "ambiguous",
	} {
		if got := Inside(host); got != want {
			t.Errorf("Inside(%q) = %q, want %q", host, got, want)
		}
	}
}
