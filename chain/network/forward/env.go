package forward

import (
	"net/netip"
	"strconv"
	"strings"
)

// variables lead programs to the proxy. URL is its address, AT its host:port, HOST and PORT the parts.
// The sources are:
//
//   - http_proxy, https_proxy, all_proxy, no_proxy: everything.curl.dev/usingcurl/proxies/env. Most programs know them
//   - NODE_USE_ENV_PROXY: nodejs.org/api/cli.html, Node 22.21 and 24 or later
//   - YARN_*: yarnpkg.com/configuration/yarnrc, yarn 2 or later uses no other variable
//   - RSYNC_PROXY: rsync(1), for rsync:// addresses
//   - MAVEN_OPTS, GRADLE_OPTS: the properties of Java's networking. Maven 3.9 and later use them if
//     told to (maven.apache.org/resolver/configuration.html)
//
// Java itself reads no variable of a proxy. JAVA_TOOL_OPTIONS has no place here: each Java program
// would print it to its standard error.
var variables = []struct {
	names []string
	value string
}{
	{[]string{"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}, "URL"},
	{[]string{"no_proxy", "NO_PROXY"}, "localhost,127.0.0.1,::1"},
	{[]string{"NODE_USE_ENV_PROXY"}, "1"},
	{[]string{"YARN_HTTP_PROXY", "YARN_HTTPS_PROXY"}, "URL"},
	{[]string{"RSYNC_PROXY"}, "AT"},
	{[]string{"MAVEN_OPTS"}, javaProxy + " -Daether.connector.http.useSystemProperties=true -Daether.transport.apache.useSystemProperties=true"},
	{[]string{"GRADLE_OPTS"}, javaProxy},
}

// javaProxy leaves out this machine by default (http.nonProxyHosts).
const javaProxy = "-Dhttp.proxyHost=HOST -Dhttp.proxyPort=PORT -Dhttps.proxyHost=HOST -Dhttps.proxyPort=PORT"

// Proxy returns the address of the proxy inside; the zero value is none.
func (f *Forwarder) Proxy() netip.AddrPort {
	if f.proxy == nil {
		return netip.AddrPort{}
	}
	return f.doors[len(f.doors)-1].at
}

// Env returns the variables that lead a program to the proxy. Programs that know none of them reach
// named hosts only.
func (f *Forwarder) Env() map[string]string {
	if f.proxy == nil {
		return nil
	}
	at := f.Proxy()
	fill := strings.NewReplacer("URL", "http://"+at.String(), "AT", at.String(), "HOST", at.Addr().String(), "PORT", strconv.Itoa(int(at.Port())))
	env := map[string]string{}
	for _, v := range variables {
		for _, name := range v.names {
			env[name] = fill.Replace(v.value)
		}
	}
	return env
}
