package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/tracking"
)

// trackingKind is the kind of movies of detections.
type trackingKind struct {
	lineage, truth, sequence, series *string
	width, height                    *float64
	empty                            *bool
	stride, offset, tolerance        *int64
	parts                            *int64
	// of every movie: those that share frames, or nearly, are divided together
	group []int
	work  func() (int, error)
}

var _ kind[[]*tracking.Movie, []*tracking.Prediction] = &trackingKind{}

func (*trackingKind) phrases() phrases {
	return phrases{"detections", "detections with tracks", "The detections have", "--lineage man_track.txt",
		"lambda=0.003,0.03"}
}

func (*trackingKind) about() string {
	return `
Detections are a table with a header, separated by commas or tabs, compressed or not. Its
columns are frame, x and y, and optionally id, area, intensity, var_x, var_y, cov_xy. Labels are
a column track with --lineage (track and parent, or a man_track.txt of the Cell Tracking
Challenge), a column parent, or --truth, a table of events with the columns frame, event, from
and to. Columns sequence and series separate movies in one file.
`
}

func (k *trackingKind) define(fs *flags.Set, training bool) {
	k.lineage = fs.String("lineage", "", "File with the parents of tracks")
	k.truth = fs.String("truth", "", "File with events, in place of tracks. Detections without a line are "+
		"not annotated")
	k.sequence = fs.String("sequence", "", "The only sequence to read")
	k.series = fs.String("series", "", "The only series to read, of files with several")
	k.width = fs.Float("width", 0, "Width of the field, in pixels; 0 is not known")
	k.height = fs.Float("height", 0, "Height of the field; 0 is not known")
	k.empty = fs.Bool("allow_empty", false, "Frames without detections may stand between others; all tracks "+
		"end there")
	k.stride = fs.Int("stride", 32, 1, "Use every Nth frame only")
	k.offset = fs.Int("offset", 32, -1, "First frame that is taken, with --stride; -1 makes a movie of each")
	k.tolerance = fs.Int("tolerance", 32, 1, "Frames by which a division may be found earlier or later")
	k.parts = fs.Int("parts", 32, 1, "Cut every movie into this many parts, for cv")
	k.work = workersFlag(fs)
}

func (*trackingKind) defineWriting(*flags.Set) {}

func (k *trackingKind) workers() (int, error) { return k.work() }

// movies reads a file, with its labels.
func (k *trackingKind) movies(c *call, name string) ([]*tracking.Movie, error) {
	if *k.stride < 1 || *k.offset < -1 || *k.offset >= *k.stride || *k.tolerance < 0 || *k.parts < 1 {
		return nil, errors.New("flags --stride and --parts must be at least 1, --offset from -1 to less than " +
			"--stride, and --tolerance not negative")
	}
	if (*k.width > 0) != (*k.height > 0) || *k.width < 0 || *k.height < 0 {
		return nil, errors.New("flags --width and --height must be given together, and positive")
	}
	o := &tracking.ReadOptions{Width: *k.width, Height: *k.height, Sequence: *k.sequence, Series: *k.series,
		AllowEmpty: *k.empty}
	if *k.lineage != "" {
		if *k.truth != "" {
			return nil, errors.New("flags --lineage and --truth: one of them says what is true")
		}
		if err := k.readFile(c, *k.lineage, func(r io.Reader, shown string) (err error) {
			o.Parents, err = tracking.ReadLineage(r, shown)
			return err
		}); err != nil {
			return nil, fmt.Errorf("flag --lineage: %w", err)
		}
	}
	var movies []*tracking.Movie
	if err := k.readFile(c, name, func(r io.Reader, shown string) (err error) {
		movies, err = tracking.ReadMovies(r, shown, o)
		return err
	}); err != nil {
		return nil, err
	}
	if *k.truth != "" {
		if err := k.readFile(c, *k.truth, func(r io.Reader,
			shown string) error {
			return tracking.ReadEvents(r, shown, movies)
		}); err != nil {
			return nil, fmt.Errorf("flag --truth: %w", err)
		}
	}
	return k.divided(movies)
}

func (*trackingKind) readFile(c *call, name string, f func(r io.Reader, shown string) error) error {
	r, shown, err := c.OpenText(name)
	if err != nil {
		return err
	}
	defer r.Close()
	return f(r, shown)
}

// divided takes frames by --stride, and cuts movies into --parts.
func (k *trackingKind) divided(movies []*tracking.Movie) ([]*tracking.Movie, error) {
	var out []*tracking.Movie
	k.group = nil
	for i, m := range movies {
		from, to := int(*k.offset), int(*k.offset)+1
		if from < 0 {
			from, to = 0, int(*k.stride)
		}
		for offset := from; offset < to; offset++ {
			x, err := m.Every(int(*k.stride), offset)
			if err != nil {
				return nil, err
			}
			if to-from > 1 { // a file that is written must tell them apart
				x.Sequence = strings.TrimPrefix(fmt.Sprintf("%s/%d", m.Sequence, offset), "/")
			}
			parts, n := int(*k.parts), len(x.Frames)-1
			if parts > 1 && n < parts {
				return nil, fmt.Errorf("flag --parts: %s has %d frames, too few for %d parts of two", x.Name, n+1, parts)
			}
			if parts == 1 {
				out, k.group = append(out, x), append(k.group, i)
				continue
			}
			for p := range parts {
				k.group = append(k.group, i*parts+p)
				y := x.Cut(p*n/parts, (p+1)*n/parts+1)
				y.Sequence = strings.TrimPrefix(fmt.Sprintf("%s/part%d", x.Sequence, p+1), "/")
				out = append(out, y)
			}
		}
	}
	return out, nil
}

func (k *trackingKind) read(c *call, name string) ([]*tracking.Movie, error) {
	return k.labelled(c, name)
}

func (k *trackingKind) labelled(c *call, name string) ([]*tracking.Movie, error) {
	movies, err := k.movies(c, name)
	if err != nil {
		return nil, err
	}
	for _, m := range movies {
		if !m.Labelled() {
			return nil, fmt.Errorf("%s: the detections have no tracks: a column track is needed, or --truth", m.Name)
		}
	}
	return movies, nil
}

func (k *trackingKind) like(c *call, name string, _ []*tracking.Movie,
	labelled bool) ([]*tracking.Movie, error) {
	if labelled {
		movies, err := k.labelled(c, name)
		if err != nil {
			return nil, err
		}
		for _, m := range movies {
			if m.Partial {
				return nil, fmt.Errorf("%s: some detections are not annotated: nothing can be measured", m.Name)
			}
		}
		return movies, nil
	}
	return k.movies(c, name)
}

func (*trackingKind) write(w io.Writer, _, x []*tracking.Movie, p []*tracking.Prediction) error {
	return tracking.WriteTracks(w, x, p)
}

// judge measures by the Challenge's measures and the loss of events.
func (k *trackingKind) judge(x []*tracking.Movie, p []*tracking.Prediction) []measured {
	for _, m := range x {
		if m.Partial {
			return []measured{{"annotated events", float64(annotated(x)), ""}}
		}
	}
	r, err := tracking.Judge(x, p, int(*k.tolerance))
	if err != nil {
		panic(err) // movies of like and read are labelled
	}
	c := &r.Counts
	return []measured{{"loss", r.Loss, ""}, {"missed events", 100 * r.MissedShare(), "%"},
		{"TRA", c.TRA(tracking.Challenge), ""}, {"LNK", c.LNK(tracking.Challenge), ""},
		{"division F1", c.DivisionF1(), ""}, {"edges found", float64(c.Found), ""},
		{"false", float64(c.FalseEdges), ""}, {"of these from an end to a beginning", float64(c.FalseJoins), ""},
		{"missed", float64(c.MissedEdges), ""}, {"of another meaning", float64(c.WrongEdges), ""},
		{"divisions found", float64(c.DivisionsFound), ""},
		{"missed divisions", float64(c.Divisions - c.DivisionsFound), ""},
		{"false divisions", float64(c.DivisionsFalse), ""}}
}

func annotated(x []*tracking.Movie) int {
	n := 0
	for _, m := range x {
		for _, e := range m.Events {
			n += len(e)
		}
	}
	return n
}

func (*trackingKind) chosenBy([]*tracking.Movie) []string {
	return []string{"loss", "missed events"}
}

func (*trackingKind) subset(x []*tracking.Movie, movies []int) []*tracking.Movie {
	return dataset.Pick(x, movies)
}

func (*trackingKind) weight(x []*tracking.Movie, i int) float64 { return float64(len(x[i].Events)) }

func (*trackingKind) fingerprint(x []*tracking.Movie) string {
	return fmt.Sprintf("%016x", tracking.Fingerprint(x))
}

func (*trackingKind) size(x []*tracking.Movie) string {
	frames, detections := 0, 0
	for _, m := range x {
		frames += len(m.Frames)
		detections += m.Detections()
	}
	return fmt.Sprintf("%d movies, %d frames, %d detections", len(x), frames, detections)
}

// trials divides movies; those that a stride made of the same frames stay together.
func (k *trackingKind) trials(x []*tracking.Movie, file string, folds, inner, repeats int,
	seed uint64) ([]evaluate.Trial, error) {
	if file != "" {
		return nil, errors.New("flag --trials: movies are divided by --folds")
	}
	groups := 1 + slices.Max(k.group)
	if least := max(folds, inner*folds/(folds-1)); groups < least {
		return nil, fmt.Errorf("%d movies cannot be divided into %d folds with %d inner ones: --parts cuts each "+
			"movie into several", groups, folds, inner)
	}
	return evaluate.Grouped(k.group, folds, inner, repeats, seed)
}
