package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/federation"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/federated"
)

// Certificates say by their organisation what they are for.
const (
	agentRole  = "tropica agent"
	serverRole = "tropica server"
)

// serverName is the name in a server's request.
const serverName = "server"

var certsInit = &command{
	Name: "certs init", Args: "", Min: 0, Max: 0,
	Summary: "Makes an authority: a key, and a certificate of its own.",
	About: "\nThe key, ca.key, never leaves the folder; ca.crt goes to the server and all " +
		"agents.\n\nExample:\n\n  fed certs init --authority ca",
	Setup: func(fs *flags.Set) func(*call) error {
		dir := fs.String("authority", "", "Folder of the authority; needed")
		days := fs.Int("days", 32, 3650, "Days until the authority's certificate expires")
		return func(c *call) error {
			if *dir == "" || *days < 1 {
				return errors.New("flag --authority is needed, and --days must be positive")
			}
			if err := newAuthority(*dir, int(*days)); err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "%s is the certificate that server and agents trust\n",
				filepath.Join(*dir, "ca.crt"))
			return nil
		}
	},
}

var certsRequest = &command{
	Name: "certs request", Args: "NAME", Min: 1, Max: 1,
	Summary: "Makes a key and a request for a certificate.",
	About: `
The key stays where it is made. The request, NAME.csr, goes to the authority.

Examples:

  fed certs request anna --domain school --certificates certs
  fed certs request server --hosts fed.example.org,10.0.0.7 --certificates certs`,
	Setup: func(fs *flags.Set) func(*call) error {
		dir := fs.String("certificates", "certificates", "Folder for key and request")
		domain := fs.String("domain", "", "Domain that the agent speaks for")
		hosts := fs.String("hosts", "localhost,127.0.0.1",
			"Names and addresses of the server, separated by commas (NAME server)")
		return func(c *call) error {
			path, err := request(*dir, c.Args[0], *domain, *hosts)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "%s is for the authority: fed certs issue %s --authority DIR\n", path, path)
			return nil
		}
	},
}

var certsIssue = &command{
	Name: "certs issue", Args: "NAME.csr ...", Min: 1, Max: -1,
	Summary: "Signs requests: writes NAME.crt beside each.",
	About: `
The authority decides what a certificate says: the name is that of the file, the domain that of
--domain, and a request for another one is refused.

Example:

  fed certs issue anna.csr --authority ca --domain school --days 90`,
	Setup: func(fs *flags.Set) func(*call) error {
		domain := fs.String("domain", "", "Domain of the agents")
		return signing(fs, func(_ *authority, path string) (string, *x509.CertificateRequest, error) {
			csr, err := readRequest(path)
			if err != nil {
				return "", nil, err
			}
			if asked := strings.Join(csr.Subject.OrganizationalUnit, ","); asked != *domain {
				return "", nil, fmt.Errorf("%s: it asks for the domain %q, and --domain is %q", path, asked, *domain)
			}
			// The file's name is what the authority has read: a request must not be for another
			// one.
			if name := strings.TrimSuffix(filepath.Base(path), ".csr"); csr.Subject.CommonName != name {
				return "", nil, fmt.Errorf("%s: it asks for a certificate of %q; if that is meant, name the file %s.csr",
					path, csr.Subject.CommonName, csr.Subject.CommonName)
			}
			return strings.TrimSuffix(path, ".csr") + ".crt", csr, nil
		})
	},
}

// signing defines the flags of commands that sign certificates. They sign, for each argument, the
// request that admitted returns, and write the certificate to the file that it names.
func signing(fs *flags.Set, admitted func(a *authority, path string) (to string, r *x509.CertificateRequest,
	err error)) func(*call) error {
	dir := fs.String("authority", "", "Folder of the authority; needed")
	days := fs.Int("days", 32, 90, "Days until the certificates expire")
	return func(c *call) error {
		a, err := openAuthority(*dir)
		if err != nil {
			return err
		}
		for _, path := range c.Args {
			to, r, err := admitted(a, path)
			if err != nil {
				return err
			}
			if err := a.issue(c, to, r, int(*days)); err != nil {
				return err
			}
		}
		return nil
	}
}

var certsRenew = &command{
	Name: "certs renew", Args: "NAME.crt ...", Min: 1, Max: -1,
	Summary: "Signs certificates again, with another expiry, for the same keys.",
	About:   "\nExample:\n\n  fed certs renew anna.crt --authority ca --days 90",
	Setup: func(fs *flags.Set) func(*call) error {
		return signing(fs, func(a *authority, path string) (string, *x509.CertificateRequest, error) {
			old, err := readCertificate(path)
			if err != nil {
				return "", nil, err
			}
			if err := old.CheckSignatureFrom(a.cert); err != nil {
				return "", nil, fmt.Errorf("%s: it is not of this authority: %w", path, err)
			}
			if revoked, err := a.revoked(); err != nil {
				return "", nil, err
			} else if void(revoked, old.SerialNumber) {
				return "", nil, fmt.Errorf("%s: it was revoked; issue a new one", path)
			}
			return path, &x509.CertificateRequest{Subject: old.Subject, PublicKey: old.PublicKey,
				DNSNames: old.DNSNames, IPAddresses: old.IPAddresses}, nil
		})
	},
}

var certsRevoke = &command{
	Name: "certs revoke", Args: "NAME.crt ...", Min: 1, Max: -1,
	Summary: "Puts certificates on the authority's list of those that are void.",
	About: `
With a certificate all others of its key are void, those before and after a renewal too.
The list, ca.crl, goes to the server's folder of certificates; a server that runs reads it
again when it changes.

Example:

  fed certs revoke anna.crt --authority ca`,
	Setup: func(fs *flags.Set) func(*call) error {
		dir := fs.String("authority", "", "Folder of the authority; needed")
		return func(c *call) error {
			a, err := openAuthority(*dir)
			if err != nil {
				return err
			}
			list, err := a.revoked()
			if err != nil {
				return err
			}
			for _, path := range c.Args {
				cert, err := readCertificate(path)
				if err != nil {
					return err
				}
				if err := cert.CheckSignatureFrom(a.cert); err != nil {
					return fmt.Errorf("%s: it is not of this authority: %w", path, err)
				}
				serials, err := a.sameKey(cert)
				if err != nil {
					return err
				}
				for _, n := range serials {
					if !void(list, n) {
						list = append(list, x509.RevocationListEntry{SerialNumber: n,
							RevocationTime: time.Now()})
					}
				}
			}
			b, err := x509.CreateRevocationList(rand.Reader,
				&x509.RevocationList{RevokedCertificateEntries: list,
					Number: big.NewInt(time.Now().UnixNano()), ThisUpdate: time.Now(),
					NextUpdate: time.Now().AddDate(10, 0, 0)}, a.cert, a.key)
			if err != nil {
				return err
			}
			to := filepath.Join(*dir, "ca.crl")
			if err := writePEM(c, to, "X509 CRL", b); err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "%s has %d certificates; the server needs it\n", to, len(list))
			return nil
		}
	},
}

var certsLocal = &command{
	Name: "certs local", Args: "run.json", Min: 1, Max: 1,
	Summary: "Makes an authority and all certificates of a configuration, to try it on one machine.",
	About: `
All keys are then in one folder. For agents of others use init, request and issue. What the
folder has already is kept: after agents were added to the configuration, run it again.

Example:

  fed certs local run.json`,
	Setup: func(fs *flags.Set) func(*call) error {
		hosts := fs.String("hosts", "localhost,127.0.0.1",
			"Names and addresses of the server, separated by commas")
		days := fs.Int("days", 32, 90, "Days until the certificates expire")
		return func(c *call) error {
			cfg, base, err := federation.Load(c.Args[0])
			if err != nil {
				return err
			}
			if cfg.Certificates == "" {
				return fmt.Errorf("%s: the field certificates names no folder", c.Args[0])
			}
			dir := federation.Path(base, cfg.Certificates)
			// What is there is kept, so that agents may be added to a configuration.
			if !exists(filepath.Join(dir, "ca.key")) {
				if err := newAuthority(dir, int(*days)); err != nil {
					return err
				}
			}
			a, err := openAuthority(dir)
			if err != nil {
				return err
			}
			quiet := &call{Ctx: c.Ctx, Streams: c.Streams}
			quiet.Out = io.Discard
			one := func(name, domain string) error {
				if exists(filepath.Join(dir, name+".crt")) {
					return nil
				}
				path, err := request(dir, name, domain, *hosts)
				if err != nil {
					return err
				}
				csr, err := readRequest(path)
				if err != nil {
					return err
				}
				if err := os.Remove(path); err != nil {
					return err
				}
				return a.issue(quiet, strings.TrimSuffix(path, ".csr")+".crt", csr, int(*days))
			}
			if err := one(serverName, ""); err != nil {
				return err
			}
			for _, m := range cfg.Agents {
				if err := one(m.Name, m.Domain); err != nil {
					return err
				}
			}
			fmt.Fprintf(c.Out, "%s has an authority, and certificates of the server and %d agents\n", dir,
				len(cfg.Agents))
			return nil
		}
	},
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// authority is a folder with a key and the certificate of an authority.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(dir string, days int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key, err := newKey(filepath.Join(dir, "ca.key"))
	if err != nil {
		return err
	}
	serial, err := newSerial()
	if err != nil {
		return err
	}
	t := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "tropica authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, days),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign}
	b, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return err
	}
	return writePEM(&call{}, filepath.Join(dir, "ca.crt"), "CERTIFICATE", b)
}

func openAuthority(dir string) (*authority, error) {
	if dir == "" {
		return nil, errors.New("flag --authority is needed: the folder that `fed certs init` made")
	}
	cert, err := readCertificate(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	key, err := readKey(filepath.Join(dir, "ca.key"))
	if err != nil {
		return nil, err
	}
	return &authority{dir, cert, key}, nil
}

// issue signs a certificate and writes it.
func (a *authority) issue(c *call, to string, r *x509.CertificateRequest, days int) error {
	if days < 1 {
		return errors.New("flag --days must be positive")
	}
	serial, err := newSerial()
	if err != nil {
		return err
	}
	t := &x509.Certificate{SerialNumber: serial, Subject: r.Subject, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().AddDate(0, 0, days),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true}
	if t.NotAfter.After(a.cert.NotAfter) {
		t.NotAfter = a.cert.NotAfter
	}
	// The role is the authority's word, whatever the request says.
	if r.Subject.CommonName == serverName {
		t.Subject.Organization, t.ExtKeyUsage = []string{serverRole},
			[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		t.DNSNames, t.IPAddresses = r.DNSNames, r.IPAddresses
	} else {
		t.Subject.Organization, t.ExtKeyUsage = []string{agentRole},
			[]x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	b, err := x509.CreateCertificate(rand.Reader, t, a.cert, r.PublicKey, a.key)
	if err != nil {
		return err
	}
	if err := a.record(serial, r.PublicKey, r.Subject.CommonName, t.NotAfter); err != nil {
		return err
	}
	if err := writePEM(c, to, "CERTIFICATE", b); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s: %s", to, t.Subject.CommonName)
	if len(t.Subject.OrganizationalUnit) > 0 {
		fmt.Fprintf(c.Out, " of domain %s", strings.Join(t.Subject.OrganizationalUnit, ","))
	}
	fmt.Fprintf(c.Out, ", until %s\n", t.NotAfter.Format("2006-01-02"))
	return nil
}

// issuedFile lists the certificates of an authority, one a line: serial number, a hash of the key,
// name, expiry.
const issuedFile = "issued.tsv"

// record adds a certificate to those that the authority has issued.
func (a *authority) record(serial *big.Int, public any, name string, expiry time.Time) error {
	key, err := keyHash(public)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(a.dir, issuedFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f, "%v\t%s\t%q\t%s\n", serial, key, name,
		expiry.Format(time.RFC3339)); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// sameKey lists the serial numbers of all certificates of a certificate's key. These are its own,
// and those before and after renewals, which are valid until they expire.
func (a *authority) sameKey(cert *x509.Certificate) ([]*big.Int, error) {
	out := []*big.Int{cert.SerialNumber}
	key, err := keyHash(cert.PublicKey)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(a.dir, issuedFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	number := 0
	for line := range strings.Lines(string(b)) {
		number++
		fields := strings.Split(line, "\t")
		serial, ok := new(big.Int).SetString(fields[0], 10)
		if !ok || len(fields) != 4 {
			return nil, fmt.Errorf("%s:%d: it is no line of serial number, key, name and expiry", path,
				number)
		}
		if fields[1] == key && serial.Cmp(cert.SerialNumber) != 0 {
			out = append(out, serial)
		}
	}
	return out, nil
}

func keyHash(public any) (string, error) {
	b, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:]), nil
}

// void reports whether a list has a serial number.
func void(list []x509.RevocationListEntry, serial *big.Int) bool {
	return slices.ContainsFunc(list,
		func(e x509.RevocationListEntry) bool { return e.SerialNumber.Cmp(serial) == 0 })
}

// revoked lists the certificates that are void.
func (a *authority) revoked() ([]x509.RevocationListEntry, error) {
	list, err := readRevoked(filepath.Join(a.dir, "ca.crl"), a.cert)
	if err != nil || list == nil {
		return nil, err
	}
	return list.RevokedCertificateEntries, nil
}

// readRevoked reads a list, which its authority must have signed; nil where there is no file.
func readRevoked(path string, by *x509.Certificate) (*x509.RevocationList, error) {
	list, err := readAs(path, "X509 CRL", x509.ParseRevocationList)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := list.CheckSignatureFrom(by); err != nil {
		return nil, fmt.Errorf("%s: it is not of this authority: %w", path, err)
	}
	return list, nil
}

// request makes a key and a request for a name.
func request(dir, name, domain, hosts string) (path string, err error) {
	if name != serverName {
		if err := federated.CheckName(name); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	t := &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}
	if name == serverName {
		for h := range strings.SplitSeq(hosts, ",") {
			if ip := net.ParseIP(strings.TrimSpace(h)); ip != nil {
				t.IPAddresses = append(t.IPAddresses, ip)
			} else if h = strings.TrimSpace(h); h != "" {
				t.DNSNames = append(t.DNSNames, h)
			}
		}
	} else if domain != "" {
		t.Subject.OrganizationalUnit = []string{domain}
	}
	key, err := newKey(filepath.Join(dir, name+".key"))
	if err != nil {
		return "", err
	}
	b, err := x509.CreateCertificateRequest(rand.Reader, t, key)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, name+".csr")
	return path, writePEM(&call{}, path, "CERTIFICATE REQUEST", b)
}

// newKey makes a key and its file, which must not exist: a key that is lost is lost.
func newKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	b, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%s exists: it is kept; remove it to begin anew", path)
	}
	if err != nil {
		return nil, err
	}
	if err := pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: b}); err != nil {
		f.Close()
		return nil, err
	}
	return key, f.Close()
}

func newSerial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
}

func writePEM(c *call, path, kind string, b []byte) error {
	return c.Output(path, func(w io.Writer) error { return pem.Encode(w, &pem.Block{Type: kind, Bytes: b}) })
}

// readAs reads the first block of a PEM file, which must be of that kind.
func readAs[T any](path, kind string, parse func([]byte) (T, error)) (v T, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return v, err
	}
	p, _ := pem.Decode(b)
	if p == nil || p.Type != kind {
		return v, fmt.Errorf("%s: it has no %s in PEM form", path, kindNames[kind])
	}
	if v, err = parse(p.Bytes); err != nil {
		return v, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// kindNames are the kinds of PEM blocks for people.
var kindNames = map[string]string{"CERTIFICATE": "certificate",
	"CERTIFICATE REQUEST": "request for a certificate",
	"PRIVATE KEY":         "private key", "X509 CRL": "list of revoked certificates"}

func readCertificate(path string) (*x509.Certificate, error) {
	return readAs(path, "CERTIFICATE", x509.ParseCertificate)
}

func readRequest(path string) (*x509.CertificateRequest, error) {
	return readAs(path, "CERTIFICATE REQUEST", func(b []byte) (*x509.CertificateRequest, error) {
		r, err := x509.ParseCertificateRequest(b)
		if err == nil {
			err = r.CheckSignature()
		}
		return r, err
	})
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	return readAs(path, "PRIVATE KEY", func(b []byte) (*ecdsa.PrivateKey, error) {
		k, err := x509.ParsePKCS8PrivateKey(b)
		if err != nil {
			return nil, err
		}
		key, ok := k.(*ecdsa.PrivateKey)
		if !ok {
			return nil, fmt.Errorf("a key of another kind, %T", k)
		}
		return key, nil
	})
}

// identity is what one side of a connection shows, and whom it trusts. Every problem names its
// file.
func identity(dir, name, role string) (tls.Certificate, *x509.CertPool, *x509.Certificate, error) {
	fail := func(err error) (tls.Certificate, *x509.CertPool, *x509.Certificate, error) {
		return tls.Certificate{}, nil, nil, err
	}
	ca, err := readCertificate(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return fail(err)
	}
	crt, key := filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	leaf, err := readCertificate(crt)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w; `fed certs request` asks the authority for one", err)
	}
	if err != nil {
		return fail(err)
	}
	switch {
	case time.Now().After(leaf.NotAfter):
		return fail(fmt.Errorf("%s: it expired on %s; the authority renews it: fed certs renew", crt,
			leaf.NotAfter.Format("2006-01-02 15:04")))
	case time.Now().Before(leaf.NotBefore):
		return fail(fmt.Errorf("%s: it is not valid before %s; is the clock right?", crt,
			leaf.NotBefore.Format("2006-01-02 15:04")))
	case leaf.CheckSignatureFrom(ca) != nil:
		return fail(fmt.Errorf("%s: it is not signed by the authority of %s", crt,
			filepath.Join(dir, "ca.crt")))
	case !slices.Equal(leaf.Subject.Organization, []string{role}):
		return fail(fmt.Errorf("%s: it is not that of a %s", crt, role))
	case leaf.Subject.CommonName != name:
		return fail(fmt.Errorf("%s: it is in the name of %s", crt, leaf.Subject.CommonName))
	}
	c, err := tls.LoadX509KeyPair(crt, key)
	if err != nil {
		return fail(fmt.Errorf("%s with %s: %w", crt, key, err))
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	return c, pool, ca, nil
}
