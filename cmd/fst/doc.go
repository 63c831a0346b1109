// Command fst has the tools for weighted finite-state transducers in one program:
// `fst compose a.fst b.fst ab.fst`, or the same when it is called fstcompose (`fst
// links DIR` makes the links). `fst help` lists the tools, `fst help compose` tells
// what one does and what it costs.
//
// It stands in for OpenFst's command line tools: their files, flags (of 1.7.9 and
// of the newer releases, before or after arguments), exit statuses, printed text,
// and results down to the numbers of states and the order of arcs. Exit status 1
// is any error, 2 a difference that a comparison found. TestAsOpenFst draws
// machines and options and runs them through both.
//
// What differs, on purpose, and only this:
//
//	where                       OpenFst 1.7.9                       here
//	--------------------------  ----------------------------------  ----------------------------------
//	lines of 8096 bytes and     end the input, silently             are read
//	  more in text files
//	labels beyond 32 bits       wrap around, silently               are an error with line and field
//	CRLF line ends              are an error                        are read
//	NaN weights                 are read, and printed BadNumber     are an error where they enter, in
//	                                                                  files and flags
//	a file that cannot be       fstcompile: message, status 0       status 1; a result appears whole or
//	  written                                                         not at all
//	- or nothing as a file      fstprint makes a file called -;     a standard stream, everywhere
//	  name                        fstreplace and fstreweight
//	                              cannot read -
//	pair files that cannot be   fstsymbols: message, status 0       status 1
//	  read
//	crashes and loops           fstencode --decode and fstsymbols   errors; where a computation has no
//	                              without their tables; no end        end, the path or cycle that shows
//	                              where there is none                 it, or --limit_states and the like
//	sums over log weights       steps below --delta are dropped,    exact, so that weights agree to a
//	  round cycles                divergent sums become some          thousandth; divergent sums are an
//	                              number                              error
//	fstminimize, arcs of        counts 0̄ as 1̄ where the machine     keeps the relation
//	  weight 0̄                    has no other weights
//	fstpush of an affix or a    an error                            the machine as it is
//	  total of no path at all
//	bad --call_arc_labeling     fstreplace: message, and goes on    status 1
//	keys of archives            farextract writes where they lead   only below the prefix
//	fstrandgen --seed           its own generator                   another one: other paths, as likely
//	messages                                                        say where, and what to do
//	flags                       of 1.7.9                            of both generations, --flag value,
//	                                                                  --noflag, --version; --help with
//	                                                                  definition, cost and an example
//	header property bits that   fstinfo fails on the machine        are dropped as the file is read
//	  are false
//	arc types                   standard, log, log64                the 11 listed below
//	compact, edit and other     compact and edit types are read     not there yet: vector and const
//	  types of machine            and written                         alone
//	other tools                 fstdisambiguate, fstcompress,       not there yet
//	                              fstlinear, fstloglinearapply,
//	                              farcompilestrings,
//	                              farprintstrings, pdt and mpdt
//
// The arc types are standard (tropical weights), log, log64, tropical64, real64
// (probabilities), boolean, minmax, tropical_X_tropical and tropical_X_log (products),
// tropical_LT_tropical (lexicographic) and expectation_real64_real64.
//
// The tools are thin: main.go finds the tool, library.go has the flags that all
// take, package suite erases the weight type (one suite for each set of capabilities,
// so that a tool which needs more algebra than the weights have says so), io.go reads
// and writes; the other files hold the tools.
package main
