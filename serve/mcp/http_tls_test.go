package mcp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// selfSigned is a certificate for this machine.
func selfSigned(t testing.TB) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
}

func TestTLS(t *testing.T) {
	s := newSite(t, options(t, &verbs{}), HTTPOptions{TLS: selfSigned(t)})
	h, body := modernLoad()
	h["Origin"] = s.url
	client := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // self-signed
	defer client.CloseIdleConnections()
	res, err := client.RoundTrip(s.request(t.Context(), "POST", "/mcp", h, strings.NewReader(body)))
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%v %v", res, err)
	}
	res.Body.Close()
	r := s.request(t.Context(), "POST", "/mcp", h, strings.NewReader(body))
	r.URL.Scheme = "http"
	if res, err := http.DefaultTransport.RoundTrip(r); err == nil && res.StatusCode == 200 {
		t.Error("it answers without TLS")
	}
}
