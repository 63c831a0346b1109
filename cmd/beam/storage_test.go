package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// objects is an object store of the test: buckets of S3's interface, and of that of Google's
// storage, as far as the SDK's file systems use them.
type objects struct {
	mu sync.Mutex
	of map[string][]byte // by bucket/key
}

// names returns the objects of a bucket whose keys begin with a prefix, without the bucket.
func (o *objects) names(bucket, prefix string) []string {
	var keys []string
	for name := range o.of {
		if key, ok := strings.CutPrefix(name, bucket+"/"); ok && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/")
	if rest, ok := strings.CutPrefix(path, "upload/storage/v1/b/"); ok {
		o.upload(w, r, strings.TrimSuffix(rest, "/o"), body)
		return
	}
	if rest, ok := strings.CutPrefix(path, "storage/v1/b/"); ok {
		path = strings.Replace(rest, "/o/", "/", 1)
		if bucket, list := strings.CutSuffix(rest, "/o"); list {
			type item struct {
				Name string `json:"name"`
			}
			out := []item{}
			for _, key := range o.names(bucket, r.URL.Query().Get("prefix")) {
				out = append(out, item{key})
			}
			json.NewEncoder(w).Encode(map[string]any{"kind": "storage#objects", "items": out})
			return
		}
	}
	data, is := o.of[path]
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("list-type") == "2":
		type content struct{ Key string }
		out := struct {
			XMLName  xml.Name `xml:"ListBucketResult"`
			Contents []content
		}{}
		for _, key := range o.names(strings.TrimSuffix(path, "/"), r.URL.Query().Get("prefix")) {
			out.Contents = append(out.Contents, content{key})
		}
		xml.NewEncoder(w).Encode(out)
	case r.Method == http.MethodPut:
		o.of[path] = body
	case !is:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		delete(o.of, path)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data)
	}
}

// upload is Google's, of metadata and data in one request.
func (o *objects) upload(w http.ResponseWriter, r *http.Request, bucket string, body []byte) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	var read [][]byte
	for err == nil {
		var p *multipart.Part
		if p, err = parts.NextPart(); err == nil {
			var b []byte
			b, err = io.ReadAll(p)
			read = append(read, b)
		}
	}
	var about struct{ Name string }
	if len(read) != 2 || json.Unmarshal(read[0], &about) != nil {
		http.Error(w, "no upload of two parts", http.StatusBadRequest)
		return
	}
	o.of[bucket+"/"+about.Name] = read[1]
	json.NewEncoder(w).Encode(map[string]any{"name": about.Name, "bucket": bucket,
		"size": fmt.Sprint(len(read[1]))})
}

// Shards, and what passes between workers, may be in object stores.
func TestObjectStores(t *testing.T) {
	store := &objects{of: map[string][]byte{}}
	server := httptest.NewServer(store)
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "none", "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
		"AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
		"AWS_ACCESS_KEY_ID":                "none", "AWS_SECRET_ACCESS_KEY": "none",
		"STORAGE_EMULATOR_HOST": strings.TrimPrefix(server.URL, "http://"),
	} {
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	for _, c := range corpora(t, dir)[:2] {
		c.flags = append(c.flags, "--iterations=3")
		want, _ := c.train(t, "--here")
		names := must[[]string](t)(filepath.Glob(c.pattern))
		pattern := filepath.Base(c.pattern)
		for _, n := range names {
			store.of["bucket/corpus/"+filepath.Base(n)] = must[[]byte](t)(os.ReadFile(n))
		}
		for _, scheme := range []string{"s3", "gs"} {
			c.pattern = scheme + "://bucket/corpus/" + pattern
			if got, _ := c.train(t, "--work="+scheme+"://bucket/work"); !bytes.Equal(got, want) {
				t.Errorf("%s on %s: the models differ", c.learner, scheme)
			}
			if left := store.names("bucket", "work/"); len(left) > 0 {
				t.Errorf("%s on %s left %v", c.learner, scheme, left)
			}
		}
	}
	_, errs, status := beamCall(t.Context(), "g2p", "train", "s3://bucket/none-*", "--model",
		filepath.Join(dir, "m"))
	if status == 0 || !strings.Contains(errs, "there is no file s3://bucket/none-*") {
		t.Errorf("status %d: %s", status, errs)
	}
	t.Setenv("AWS_PROFILE", "nobody") // the file system panics
	_, errs, status = beamCall(t.Context(), "g2p", "train", "s3://bucket/none-*", "--model",
		filepath.Join(dir, "m"))
	if status == 0 || !strings.Contains(errs, "nobody") {
		t.Errorf("status %d: %s", status, errs)
	}
}
