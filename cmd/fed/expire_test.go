package main

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"path/filepath"
	"testing"
	"time"
)

// expire makes a key and a certificate that expired an hour ago.
func expire(t *testing.T, authorityDir, dir, name, domain string) {
	t.Helper()
	a, err := openAuthority(authorityDir)
	if err != nil {
		t.Fatal(err)
	}
	key, err := newKey(filepath.Join(dir, name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	serial, err := newSerial()
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name,
		OrganizationalUnit: []string{domain}, Organization: []string{agentRole}},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	b, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if err := writePEM(&call{}, filepath.Join(dir, name+".crt"), "CERTIFICATE", b); err != nil {
		t.Fatal(err)
	}
}
