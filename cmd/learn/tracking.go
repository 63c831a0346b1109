package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/cmd/internal/plot"
	"github.com/tropica-fst/tropica/learn/tracking"
)

// trackingLearners are those of movies.
var trackingLearners = contestants[[]*tracking.Movie, []*tracking.Prediction]{tracking.Learner{}}

func trackingCommands() []*command {
	fresh := func() kind[[]*tracking.Movie, []*tracking.Prediction] { return &trackingKind{} }
	out := []*command{trackingSimulate}
	for _, c := range learnerCommands(trackingLearners[0], trackingLearners, fresh) {
		if c.name == "tracking predict" {
			c = trackingPredict
		}
		out = append(out, c)
	}
	return out
}

var trackingSimulate = &command{
	name: "tracking simulate", args: "[detections]", min: 0, max: 1,
	summary: "Draws movies of cells that move, divide and die, with their true events.",
	about: `
The detections have the errors of segmentation: missed cells, one cell seen as two, two seen
as one, and objects that are not cells. Every event is a move, a division, a split, a merge, an
appearance or a disappearance.

Example:

  learn tracking simulate cells.csv --preset hard --truth cells.events --movies 4`,
	setup: func(fs *flags.Set) func(*call) error {
		preset := fs.Enum("preset", "default", []string{"default", "clean", "hard", "shifted"},
			"Settings that flags change further")
		options.Define(fs, &tracking.Simulation{})
		movies := fs.Int("movies", 32, 1, "Movies, with seeds one after the other")
		seed := fs.Uint("seed", 1, "Seed of the first movie")
		truth := fs.String("truth", "", "File for the true events")
		return func(c *call) error {
			if err := apart(nil, append(places("the detections", c.arg(0)), place{"the events", *truth})); err != nil {
				return err
			}
			if *movies < 1 || *movies > 100000 {
				return fmt.Errorf("flag --movies: %d is not between 1 and 100000", *movies)
			}
			o := tracking.Presets[*preset]
			if err := overwrite(c.flags, &o); err != nil {
				return err
			}
			var list []*tracking.Movie
			var events []*tracking.Prediction
			for i := range *movies {
				if c.ctx.Err() != nil {
					return &stopped{"nothing was written"}
				}
				m, _, err := tracking.Simulate(&o, *seed+uint64(i))
				if err != nil {
					return err
				}
				list, events = append(list, m), append(events, &tracking.Prediction{Events: m.Events})
			}
			if *truth != "" {
				if err := c.Output(*truth,
					func(w io.Writer) error { return tracking.WriteEvents(w, list, events) }); err != nil {
					return err
				}
			}
			return c.Output(c.arg(0), func(w io.Writer) error { return tracking.WriteMovies(w, list) })
		}
	},
}

// linkReport is what predict reports of a movie.
type linkReport struct {
	Movie      string         `json:"movie"`
	Frames     int            `json:"frames"`
	Detections int            `json:"detections"`
	Tracks     int            `json:"tracks"`
	Events     map[string]int `json:"events"`
	Solved     int            `json:"frame_pairs_solved"`
	Open       int            `json:"not_proved_optimal"`
	Gap        float64        `json:"gap"`
}

var trackingPredict = &command{
	name: "tracking predict", args: "[detections]", min: 0, max: 1,
	summary: "Links the detections of a movie to tracks.",
	about: `
Writes a line for each detection, with its track and the track's parent. --challenge writes a
res_track.txt, --events the events with their scores, --plot a picture. Where labels are
known, the picture shows false links in another colour, and missed ones dashed.

--corrections is a table with the columns action (force or forbid), frame (of the first of
two), from and to (ids; an empty from is an appearance, an empty to a disappearance). It is
obeyed, and the rest is solved again. With --previous, the --events of an earlier call, only
those parts of frames are solved that the corrections touch. Earlier corrections must then
still be in the file.

Example:

  learn tracking predict cells.csv --model my.model --tracks tracks.csv --events cells.events
  learn tracking predict cells.csv --model my.model --corrections mine.csv --previous cells.events`,
	setup: func(fs *flags.Set) func(*call) error {
		k := &trackingKind{}
		k.define(fs, false)
		name := fs.String("model", "", "File with the model; needed")
		to := fs.String("tracks", "", "File for the tracks; standard output when not given")
		challenge := fs.String("challenge", "", "File for a res_track.txt")
		events := fs.String("events", "", "File for the events")
		picture := fs.String("plot", "", "File for a picture, as SVG")
		corrections := fs.String("corrections", "", "File with links that are forced or forbidden")
		previous := fs.String("previous", "", "File with the events of an earlier call")
		nodes := fs.Int("nodes", 32, 20000, "Most subproblems of branch and bound for a component of a frame "+
			"pair; beyond, the best assignment found is taken, and how much better another may be is reported")
		report := fs.Bool("json", false, "Report as JSON; --tracks must name a file")
		return func(c *call) error {
			inputs := []place{{"the detections", c.arg(0)}, {"the model", *name}, {"the lineage", *k.lineage},
				{"the truth", *k.truth}, {"the corrections", *corrections}}
			outputs := []place{{"the tracks", *to}, {"the challenge's file", *challenge}, {"the events", *events},
				{"the picture", *picture}}
			if *previous != *events { // that may be replaced
				inputs = append(inputs, place{"the previous events", *previous})
			}
			if err := apart(withNames(inputs), withNames(outputs)); err != nil {
				return err
			}
			if *nodes < 1 {
				return errors.New("flag --nodes must be at least 1")
			}
			if *report && *to == "" {
				return errors.New("flag --json: standard output cannot hold the tracks and a report; name a file by " +
					"--tracks")
			}
			m, _, err := load(c, *name, "tracking train", tracking.Read)
			if err != nil {
				return err
			}
			m.Nodes = int(*nodes)
			workers, err := k.workers()
			if err != nil {
				return err
			}
			movies, err := k.movies(c, c.arg(0))
			if err != nil {
				return err
			}
			if *challenge != "" && len(movies) > 1 {
				return errors.New("flag --challenge: the file is of one movie; --sequence and --offset choose it")
			}
			options, err := k.linking(c, *corrections, *previous, movies)
			if err != nil {
				return err
			}
			var found []*tracking.Prediction
			for i, movie := range movies {
				p, err := m.Link(c.ctx, movie, options[i], workers)
				if c.ctx.Err() != nil {
					return &stopped{"nothing was written"}
				}
				if err != nil {
					return err
				}
				if p.Open > 0 {
					c.Warn(c.prog, "%s: %d frame pairs were not proved optimal: another assignment may score %.3g more; "+
						"--nodes allows a longer search", movie.Name, p.Open, p.Gap)
				}
				found = append(found, p)
			}
			for _, f := range []struct {
				name  string
				write func(io.Writer) error
			}{
				{*challenge, func(w io.Writer) error {
					return tracking.WriteChallenge(w, movies[0], tracking.Tracks(movies[0], found[0].Events))
				}},
				{*events, func(w io.Writer) error { return tracking.WriteEvents(w, movies, found) }},
				{*picture, func(w io.Writer) error { return trackPicture(movies[0], found[0]).Write(w) }},
			} {
				if f.name != "" {
					if err := c.Output(f.name, f.write); err != nil {
						return err
					}
				}
			}
			if err := c.Output(*to, func(w io.Writer) error { return tracking.WriteTracks(w, movies, found) }); err != nil {
				return err
			}
			if *report {
				return c.json(linkReports(movies, found))
			}
			return nil
		}
	},
}

// withNames leaves out places without a name: files that were not asked for.
func withNames(list []place) []place {
	var out []place
	for _, p := range list {
		if p.name != "" {
			out = append(out, p)
		}
	}
	return out
}

// linking reads what a user says of links, and earlier events.
func (k *trackingKind) linking(c *call, corrections, previous string,
	movies []*tracking.Movie) ([]*tracking.LinkOptions, error) {
	var list []tracking.Correction
	if corrections != "" {
		if err := k.readFile(c, corrections, func(r io.Reader, shown string) (err error) {
			list, err = tracking.ReadCorrections(r, shown)
			return err
		}); err != nil {
			return nil, fmt.Errorf("flag --corrections: %w", err)
		}
	}
	for _, r := range list {
		known := slices.ContainsFunc(movies, func(m *tracking.Movie) bool { return m.Sequence == r.Sequence })
		switch {
		case known || r.Sequence == "" && len(movies) == 1:
		case r.Sequence == "":
			return nil, fmt.Errorf("flag --corrections: %s: there are %d movies: a column sequence must say which one",
				r.Place, len(movies))
		case len(movies) > 1 || *k.sequence == "":
			return nil, fmt.Errorf("flag --corrections: %s: there is no such sequence among the detections: %q",
				r.Place, r.Sequence)
		}
	}
	out := make([]*tracking.LinkOptions, len(movies))
	copies := make([]*tracking.Movie, len(movies))
	for i, m := range movies {
		x := *m
		copies[i], out[i] = &x, &tracking.LinkOptions{Corrections: list}
	}
	if previous == "" {
		return out, nil
	}
	if err := k.readFile(c, previous, func(r io.Reader,
		shown string) error {
		return tracking.ReadEvents(r, shown, copies)
	}); err != nil {
		return nil, fmt.Errorf("flag --previous: %w", err)
	}
	for i, m := range copies {
		if m.Partial {
			return nil, fmt.Errorf("flag --previous: %s: some detections have no event: it is of other detections",
				m.Name)
		}
		out[i].Previous = m.Events
	}
	return out, nil
}

func linkReports(movies []*tracking.Movie, found []*tracking.Prediction) []linkReport {
	var out []linkReport
	for i, m := range movies {
		r := linkReport{Movie: m.Name, Frames: len(m.Frames), Detections: m.Detections(),
			Tracks: len(tracking.Tracks(m, found[i].Events)), Events: map[string]int{}, Solved: found[i].Solved,
			Open: found[i].Open, Gap: found[i].Gap}
		for _, list := range found[i].Events {
			for _, e := range list {
				r.Events[string(e.Kind)]++
			}
		}
		out = append(out, r)
	}
	return out
}

// trackPicture draws a movie's tracks, with a ring at every division. Where labels are known, false
// links are drawn thick, and missed ones dashed.
func trackPicture(m *tracking.Movie, p *tracking.Prediction) *plot.Paths {
	pic := &plot.Paths{Title: "Tracks of " + m.Name, XLabel: "x", YLabel: "y", TimeLabel: "frame"}
	tracks := tracking.Tracks(m, p.Events)
	pic.Subtitle = fmt.Sprintf("%d detections in %d frames, %d tracks", m.Detections(),
		len(m.Frames), len(tracks))
	real := map[[2]tracking.Node]bool{}
	known := m.Labelled() && !m.Partial
	for _, e := range m.Edges {
		real[[2]tracking.Node{e.From, e.To}] = true
	}
	at := func(w *plot.Way, n tracking.Node) {
		d := &m.Frames[n.Frame][n.Index]
		w.X, w.Y, w.T = append(w.X, d.X), append(w.Y, d.Y), append(w.T, float64(m.Number(n.Frame)))
	}
	family := map[int]int{}       // track: the first of its line
	of := map[tracking.Node]int{} // detection: its family
	for _, t := range tracks {
		if family[t.ID] = t.ID; t.Parent > 0 {
			family[t.ID] = family[t.Parent]
		}
		w := plot.Way{Colour: family[t.ID]}
		for i, index := range t.Index {
			n := tracking.Node{Frame: t.First + i, Index: index}
			at(&w, n)
			of[n] = family[t.ID]
		}
		pic.Ways = append(pic.Ways, w)
	}
	extra, missed := 0, 0
	got := map[[2]tracking.Node]bool{}
	for _, e := range p.Graph(m).Edges {
		key := [2]tracking.Node{e.From, e.To}
		got[key] = true
		wrong := known && !real[key]
		if e.Parent || wrong {
			w := plot.Way{Colour: of[e.From], Wrong: wrong}
			at(&w, e.From)
			at(&w, e.To)
			pic.Ways = append(pic.Ways, w)
		}
		if wrong {
			extra++
		}
	}
	for t, list := range p.Events {
		for _, e := range list {
			if e.Kind == tracking.Divide {
				d := &m.Frames[t][e.From[0]]
				pic.Marks = append(pic.Marks, plot.Mark{X: d.X, Y: d.Y, T: float64(m.Number(t))})
			}
		}
	}
	if !known {
		return pic
	}
	for _, e := range m.Edges {
		if !got[[2]tracking.Node{e.From, e.To}] {
			w := plot.Way{Lacking: true}
			at(&w, e.From)
			at(&w, e.To)
			pic.Ways = append(pic.Ways, w)
			missed++
		}
	}
	pic.Subtitle += strings.TrimSpace(fmt.Sprintf("; %d links are false, %d are missed (dashed)", extra, missed))
	return pic
}
