package main_test

// A client is a program that reaches for a server, in one way.
type client struct {
	name    string
	uses    string // programs that must be there; the first one's version is shown
	version string // what follows it to show that; "" is --version
	at      string // host:port of the server
	proxy   bool   // it uses the proxy that the environment names
	run     string // shell text that prints "welcome" if it reached the server
	probe   string // shell text that fails where a library of the program is absent
	core    bool   // it is part of make test
}

const (
	https   = webHost + ":443"
	greeter = dbHost + ":7000"
	sshTo   = "-F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
)

// reachClients are the programs. A program that prints nothing of its own on success prints "welcome" by echo.
var reachClients = []client{
	{name: "curl", uses: "curl", at: https, proxy: true, core: true, run: "curl -sS -m 20 https://web.example.org/"},
	{name: "wget", uses: "wget", at: https, proxy: true, run: "wget -nv -t 1 -T 20 --ca-certificate=$SSL_CERT_FILE -O - https://web.example.org/"},
	{name: "aria2", uses: "aria2c", at: https, proxy: true, run: "cd $TMPDIR && aria2c --console-log-level=error --summary-interval=0 --show-console-readout=false --max-tries=1 --ca-certificate=$SSL_CERT_FILE -o page https://web.example.org/ && cat page"},
	{name: "HTTPie", uses: "http", at: https, proxy: true, run: "http --ignore-stdin --body https://web.example.org/"},
	{name: "w3m", uses: "w3m", version: "-version", at: https, proxy: true, run: "w3m -o ssl_ca_file=$SSL_CERT_FILE -dump https://web.example.org/"},
	{name: "lynx", uses: "lynx", version: "-version", at: https, proxy: true, run: "lynx -dump https://web.example.org/"},
	{name: "git, https", uses: "git", at: https, proxy: true, core: true, run: "git ls-remote https://web.example.org/repo.git main | grep main && echo welcome"},
	{name: "git, ssh", uses: "git ssh", at: dbHost + ":22", proxy: true, run: "GIT_SSH_COMMAND=\"${GIT_SSH_COMMAND:-ssh} " + sshTo + "\" git ls-remote ssh://git@db.example.org/repo.git main | grep main && echo welcome"},
	{name: "git, its own protocol", uses: "git", at: dbHost + ":9418", run: "git ls-remote git://db.example.org/repo.git main | grep main && echo welcome"},
	{name: "ssh", uses: "ssh", version: "-V", at: dbHost + ":22", run: "ssh " + sshTo + " git@db.example.org greet"},
	{name: "sftp", uses: "ssh sftp", version: "-V", at: dbHost + ":22", run: "echo pwd | sftp -b - " + sshTo + " git@db.example.org"},
	{name: "rsync", uses: "rsync", at: dbHost + ":873", run: "rsync rsync://db.example.org/files/welcome.txt $TMPDIR/ && cat $TMPDIR/welcome.txt", proxy: true},
	{name: "pip", uses: "python3", probe: "/usr/bin/python3 -m pip --version", at: https, proxy: true, run: "/usr/bin/python3 -m pip download --disable-pip-version-check --retries 1 -i https://web.example.org/simple --no-deps --no-cache-dir -d $TMPDIR demo && ls $TMPDIR | grep demo-1.0 && echo welcome"},
	{name: "npm", uses: "npm", at: https, proxy: true, run: "npm view demo version --registry=https://web.example.org/npm --fetch-retries=0 | grep 1.2.3 && echo welcome"},
	{name: "yarn", uses: "node", version: "yarn.js --version", at: https, proxy: true, run: "here=$PWD; cd $TMPDIR && echo {} >package.json && touch yarn.lock && YARN_ENABLE_TELEMETRY=0 YARN_NPM_REGISTRY_SERVER=https://web.example.org/npm YARN_HTTP_RETRY=0 YARN_ENABLE_GLOBAL_CACHE=0 $here/node $here/yarn.js npm info demo --fields version && echo welcome"},
	{name: "Node, fetch", uses: "node", at: https, proxy: true, run: `./node -e 'fetch("https://web.example.org/").then(r => r.text()).then(console.log)'`},
	{name: "Node, https", uses: "node", at: https, proxy: true, run: `./node -e 'require("https").get("https://web.example.org/", r => r.pipe(process.stdout))'`},
	{name: "Node, net", uses: "node", at: greeter, run: `./node -e 'const c = require("net").connect(7000, "db.example.org", () => c.write("hello\n")); c.pipe(process.stdout)'`},
	{name: "Go, net/http", uses: "go", version: "version", at: https, proxy: true, core: true, run: reachEnv + "=https://web.example.org/ ./gotest"},
	{name: "Go, net", uses: "go", version: "version", at: greeter, run: reachEnv + "=db.example.org:7000 ./gotest"},
	{name: "go list", uses: "go", version: "version", at: https, proxy: true, run: "cd $TMPDIR && GOPROXY=https://web.example.org/go GOSUMDB=off GOTOOLCHAIN=local GOFLAGS=-mod=mod /usr/local/go/bin/go list -m -versions example.test/demo && echo welcome"},
	{name: "Python, urllib", uses: "python3", at: https, proxy: true, core: true, run: `/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen("https://web.example.org/", timeout=20).read().decode())'`},
	{name: "Python, requests", uses: "python3", probe: "/usr/bin/python3 -c 'import requests'", at: https, proxy: true, run: `/usr/bin/python3 -c 'import requests; print(requests.get("https://web.example.org/", timeout=20).text)'`},
	{name: "Python, http.client", uses: "python3", at: https, run: "/usr/bin/python3 -c 'import http.client\nc = http.client.HTTPSConnection(\"web.example.org\", timeout=20)\nc.request(\"GET\", \"/\")\nprint(c.getresponse().read())'"},
	{name: "Python, socket", uses: "python3", at: greeter, run: "/usr/bin/python3 -c 'import socket\nc = socket.create_connection((\"db.example.org\", 7000), 20)\nc.send(b\"hello\\n\")\nprint(c.recv(99))'"},
	{name: "Python, asyncio", uses: "python3", at: greeter, run: "/usr/bin/python3 -c 'import asyncio\nasync def ask():\n    r, w = await asyncio.open_connection(\"db.example.org\", 7000)\n    w.write(b\"hello\\n\")\n    print(await r.readline())\nasyncio.run(ask())'"},
	{name: "Perl, HTTP::Tiny", uses: "perl", probe: "perl -MIO::Socket::SSL -e 1", at: https, proxy: true, run: `perl -MHTTP::Tiny -e 'my $r = HTTP::Tiny->new(timeout => 20, verify_SSL => 1, SSL_options => {SSL_ca_file => $ENV{SSL_CERT_FILE}})->get("https://web.example.org/"); die "$r->{url}: $r->{status} $r->{reason} $r->{content}" unless $r->{success}; print $r->{content}'`},
	{name: "Perl, IO::Socket", uses: "perl", at: greeter, run: `perl -MIO::Socket::INET -e 'my $c = IO::Socket::INET->new(PeerAddr => "db.example.org", PeerPort => 7000, Timeout => 20) or die "db.example.org:7000: $@"; print $c "hello\n"; print <$c>'`},
	{name: "Ruby, net/http", uses: "ruby", at: https, proxy: true, run: `ruby -rnet/http -e 'puts Net::HTTP.get(URI("https://web.example.org/"))'`},
	{name: "Ruby, socket", uses: "ruby", at: greeter, run: `ruby -rsocket -e 'c = TCPSocket.new("db.example.org", 7000); c.puts "hello"; puts c.read'`},
	{name: "PHP, streams", uses: "php", at: https, run: `php -r 'echo file_get_contents("https://web.example.org/") ?: exit(1);'`},
	{name: "Lua, socket", uses: "lua5.4", probe: "lua5.4 -e 'require(\"socket\")'", version: "-v", at: greeter, run: `lua5.4 -e 'local c = require("socket").tcp() c:settimeout(20) assert(c:connect("db.example.org", 7000)) c:send("hello\n") print(c:receive())'`},
	{name: "Tcl, socket", uses: "tclsh", version: "<<<'puts \"Tcl [info patchlevel]\"'", at: greeter, run: "echo 'set c [socket db.example.org 7000]; puts $c hello; flush $c; puts [gets $c]' | tclsh"},
	{name: "Java, URL", uses: "java javac", at: https, run: "java $TRUST -cp . Reach url https://web.example.org/"},
	{name: "Java, HttpClient", uses: "java javac", at: https, run: "java $TRUST -cp . Reach client https://web.example.org/"},
	{name: "Java, Socket", uses: "java javac", at: greeter, run: "java -cp . Reach db.example.org 7000"},
	{name: "Maven", uses: "mvn", version: "-B --version", at: https, proxy: true, run: `MAVEN_OPTS="$MAVEN_OPTS $TRUST" mvn -B -q -f pom.xml -Dmaven.repo.local=$TMPDIR/m2 validate && echo welcome`},
	{name: "cargo", uses: "cargo", at: https, proxy: true, run: "cp -r crate $TMPDIR/ && cd $TMPDIR/crate && CARGO_HOME=$TMPDIR/cargo CARGO_NET_RETRY=0 CARGO_HTTP_CAINFO=$SSL_CERT_FILE /usr/bin/cargo fetch -q && echo welcome"},
	{name: "psql", uses: "psql", at: dbHost + ":5432", run: "PGCONNECT_TIMEOUT=20 psql -w -h db.example.org -U ann -d shop -Atc 'select greeting'"},
	{name: "redis-cli", uses: "redis-cli", at: dbHost + ":6379", run: "redis-cli -h db.example.org get greeting | grep welcome"},
	{name: "openssl s_client", uses: "openssl", version: "version", at: https, run: "out=$(openssl s_client -verify_return_error -connect web.example.org:443 </dev/null) && grep -q 'CN = web.example.org' <<<$out && echo welcome"},
	{name: "bash /dev/tcp", uses: "bash", at: greeter, core: true, run: "exec 3<>/dev/tcp/db.example.org/7000 && echo hello >&3 && cat <&3"},
	{name: "nc", uses: "nc", version: "-h", at: greeter, run: "echo hello | nc -v -w 20 db.example.org 7000"},
	{name: "ncat", uses: "ncat", at: greeter, run: "echo hello | ncat -w 20 db.example.org 7000"},
	{name: "socat", uses: "socat", version: "-V", at: greeter, run: "echo hello | socat -t 20 - TCP:db.example.org:7000"},
	{name: "telnet", uses: "telnet", at: greeter, run: "{ echo hello; sleep 0.3; } | telnet db.example.org 7000"},
}

// devServers are programs that serve "welcome" at a port of their own, by HTTP. PORT is its number.
var devServers = []client{
	{name: "python -m http.server", uses: "python3", run: "cd $TMPDIR && echo welcome >index.html && exec /usr/bin/python3 -m http.server --bind 127.0.0.1 PORT"},
	{name: "npm run dev", uses: "npm", run: `cd $TMPDIR && echo 'require("http").createServer((q, r) => r.end("welcome\n")).listen(PORT, "127.0.0.1")' >s.js && echo '{"scripts": {"dev": "node s.js"}}' >package.json && exec npm run dev`},
	{name: "php -S", uses: "php", run: "cd $TMPDIR && echo welcome >index.php && exec php -S 127.0.0.1:PORT"},
	{name: "Ruby, TCPServer", uses: "ruby", run: `exec ruby -rsocket -e 's = TCPServer.new("127.0.0.1", PORT); loop { c = s.accept; c.gets; c.write("HTTP/1.0 200 OK\r\n\r\nwelcome\n"); c.close }'`},
	{name: "Perl, a server", uses: "perl", run: `exec perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => "127.0.0.1:PORT", Listen => 9, ReuseAddr => 1) or die $!; while ($c = $s->accept) { <$c>; print $c "HTTP/1.0 200 OK\r\n\r\nwelcome\n"; close $c }'`},
}

const javaReach = `
import java.io.*;
import java.net.*;
import java.net.http.*;

public class Reach {
    public static void main(String[] a) throws Exception {
        if (a[0].equals("url")) {
            System.out.println(new String(new URL(a[1]).openStream().readAllBytes()));
        } else if (a[0].equals("client")) {
            System.out.println(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(a[1])).build(), HttpResponse.BodyHandlers.ofString()).body());
        } else {
            try (Socket s = new Socket(a[0], Integer.parseInt(a[1]))) {
                s.getOutputStream().write("hello\n".getBytes());
                System.out.println(new BufferedReader(new InputStreamReader(s.getInputStream())).readLine());
            }
        }
    }
}
`

const mavenReach = `<project><modelVersion>4.0.0</modelVersion>
<parent><groupId>acme</groupId><artifactId>parent</artifactId><version>1</version><relativePath/></parent><artifactId>app</artifactId><packaging>pom</packaging>
<repositories><repository><id>central</id><url>https://web.example.org/maven</url></repository></repositories></project>
`
