// Command fst combines the tools for weighted finite-state transducers in one program. Run `fst
// compose a.fst b.fst ab.fst`, or the same program under the name fstcompose (`fst links DIR` makes
// the links). `fst help` lists the tools, `fst help compose` explains one and its cost.
//
// It replaces OpenFst's command line tools, with the same files, flags, exit statuses, printed text
// and results. Even the numbers of states and the order of arcs agree. It accepts the flags of
// 1.7.9 and of the newer releases, before or after arguments. Exit status 1 is any error, and 2 a
// difference that a comparison found. When a reader closes the pipe, the tool ends silently, by
// SIGPIPE. `fst --version` prints the module's version and the commit. TestAsOpenFst draws machines
// and options and compares both programs on them.
//
// The intended differences, and no others, are in one table, in six parts by reason.
//
// Input is read whole or is an error, where OpenFst truncates it, wraps around or guesses silently:
//
//	where                       OpenFst 1.7.9                       here
//	--------------------------  ----------------------------------  ----------------------------------
//	lines of 8096 bytes and     end the input, silently             are read; more than 16 MiB are an
//	  more in text files                                              error
//	states and labels beyond    wrap around, silently               are an error with line and field;
//	  32 bits                                                         in tables, whose keys have 64
//	                                                                  bits, where a machine has them
//	keys beyond 64 bits         become the greatest, silently       are an error with line and field
//	key 2⁶³-1 in a table        the next one is -2⁶³                there is no next one
//	CRLF line ends              are an error                        are read
//	zero bytes in text          end the line                        belong to the symbol
//	a byte-order mark before    is an error of fstcompile, and      is skipped, in text but not in
//	  the first line              belongs to the first symbol         strings
//	NaN weights                 are read, and printed BadNumber     are an error where they enter, in
//	                                                                  files and flags
//	last line without an end    farcompilestrings reads it twice    once
//	characters that are not     farcompilestrings reads surrogates, an error that says which byte
//	  in Unicode                  five and six bytes
//	labels beyond a byte        farprintstrings --token_type=byte   a message, as for what is no string
//	                              prints their lowest byte
//	numbers in flags            beyond 32 bits wrap around; NaN,    are an error
//	                              and -Infinity as a threshold,
//	                              are taken; what follows the
//	                              number of a weight is not read
//	counts and tolerances       mean what falls out: a state that   are taken for 0
//	  below 0 in flags            is not final, a machine that is
//	                              not equal to itself, no end
//	fstmap --map_type=quantize  makes BadNumber of all weights      leaves them
//	  --delta=0
//	two symbols for one label   --save_isymbols writes one of them  writes both
//	                              twice, --keep_isymbols a file
//	                              that cannot be read
//	fstsymbols                  the new label of one without a      it gets none, and a warning says so
//	  --relabel_ipairs            symbol gets the empty symbol
//	potentials out of order     fstreweight gives them to the last  are those of the states they name
//	                              state so far
//	header property bits that   fstinfo fails on the machine        are dropped as the file is read;
//	  are false                                                       convert, farcreate and farextract
//	                                                                  pass them on, and use none
//	compact machines of         take the first arc of a state with  an error
//	  acceptors, label -1         it for a final weight
//	fstlinear                   reads a window of -1 or 10¹⁴        at most 1024 words
//	                              words, and a NaN weight
//	machines of other weights   farcreate, farinfo,                 status 1 where archives begin so, or
//	  in one archive, or in       farprintstrings: message, status      such machines are read: behind a
//	  archives read together      0; farextract --keys may not come     key, and not behind --end_key
//	                              upon them
//	archives cut at their ends  what is left may be taken for all   status 1
//	blank lines in file lists   are standard input                  are passed over
//	mpdtreverse                 writes stacks such as -1, for one   1 and 2; another number of a stack
//	                              pair or where the first is on 2;    in the file is an error
//	                              takes any number for a stack
//
// Failures have status 1, and leave nothing half-written:
//
//	where                       OpenFst 1.7.9                       here
//	--------------------------  ----------------------------------  ----------------------------------
//	a file that cannot be       fstcompile, farextract: message,    status 1; a result appears whole or
//	  written                     status 0                            not at all, but where a file can
//	                                                                  only be written over (it has other
//	                                                                  names, its folder takes no more):
//	                                                                  with what is complete; an error
//	                                                                  then says that it is not
//	pairs and tables that       fstsymbols, fstrelabel,             status 1
//	  cannot be read              farcompilestrings,
//	                              farprintstrings: message, status 0
//	later inputs that cannot be farcreate: message, status 0;       status 1
//	  read                        farequal, farisomorphic: status 2
//	keys that are not there     farextract: message, status 0       status 1
//	one file for two results,   the last one stays, status 0        status 1; tables that agree may go
//	  such as a table and a                                           to one file
//	  machine
//	two results on standard     fstencode and others write a file   status 1: nothing could tell them
//	  output                      called -                            apart
//	bad --call_arc_labeling     fstreplace: message, and goes on    status 1
//	fstconvert                  a mode that there is not: a         status 1
//	  --phi_fst_rewrite_mode      warning, and auto
//	fstcompress --decode        takes any weights for --arc_type;   the file says what they are; status 1
//	                              bad input: message, status 0
//	--fst_error_fatal=false     goes on with a machine that is an   ends with the error
//	                              error, and may write it
//
// Nothing crashes, runs for ever, or writes addresses, and names read from files lead nowhere else:
//
//	where                       OpenFst 1.7.9                       here
//	--------------------------  ----------------------------------  ----------------------------------
//	crashes and loops           fstencode --decode and fstsymbols   errors; where a computation has no
//	                              without their tables; no end        end, the path or cycle that shows
//	                              where there is none                 it, or --limit_states and the like
//	keys of archives            farextract writes where they lead   only below the prefix
//	several machines under one  farextract puts an address into     .1, .2 and so on
//	  key                         names of files: a.0x7ffe2ad6
//	farcreate to standard       crashes; farcompilestrings:         works
//	  output, --far_type=sttable  message, status 0
//	two failures of a state     an error where a label is looked    an error, everywhere
//	                              for; takes the first one for a
//	                              final weight; may go round in
//	                              circles of them
//	words that a linear model   are looked up behind its tables     have no arc
//	  does not have
//	fstcompile                  makes all states up to the          an error where they take more than a
//	  --keep_state_numbering,     greatest number, or runs out        gigabyte and not one in a thousand is in
//	  a number mistyped           of memory                           the file, unless a limit allows it
//	fstrandgen, where a path    goes on for 2³¹ arcs, by default    an error that says from which state
//	  comes to cycles that                                            no final state is reached, unless
//	  are never left                                                  --max_length, up to 2²⁴, drops it
//	pdtexpand                   no end where the stack is not       an error that says where it grows;
//	                              bounded; with --weight an error     with --weight, what is within it,
//	                              or an abort, unless the reverse     and the error only where that has
//	                              has no recursion, and of fewer      no end
//	                              than nine states no end
//	pdtshortestpath             an error where it comes upon a      the best path there, too
//	                              stack that is not bounded
//	pdtshortestpath, pdtexpand  aborts where nothing closes a       the best path, and what is near it;
//	  --weight                    parenthesis; takes one entry of     a cycle that improves paths is an
//	                              a nested search for another, and    error; --path_gc means nothing
//	                              so may miss the best path; no
//	                              end where cycles improve paths
//
// Results are those of the operation, where OpenFst's have another relation, cannot be read, or
// follow a hash table:
//
//	where                       OpenFst 1.7.9                       here
//	--------------------------  ----------------------------------  ----------------------------------
//	sums over log weights       float32, one way; steps below       exact and in float64, both ways, and
//	                              --delta are dropped, divergent      rounded once: weights agree to a
//	                              sums become some number             thousandth, less on long machines
//	                                                                  and where cycles lose little; as
//	                                                                  OpenFst's where --delta is given;
//	                                                                  divergent sums are an error, and
//	                                                                  OpenFst's number with --divergent or
//	                                                                  TROPICA_DIVERGENT=truncate
//	-Infinity in log machines   is computed with; what comes of it  a warning as it is read; an error
//	                              is some number                      where it comes into a sum
//	cycles that improve for     -16777216 and the like              an error that shows the cycle, where
//	  ever, reverse distances                                         the start does not lead, too; in
//	                                                                  fstpush weights stay there
//	fstminimize, arcs of        counts 0̄ as 1̄ where the machine     keeps the relation
//	  weight 0̄                    has no other weights
//	arcs of weight 0̄ in         dead states, BadNumber as a weight  lead nowhere: no states for them,
//	  fstdeterminize, fstpush,                                        weights stay 0̄; which labels such
//	  fstminimize,              fstrmepsilon may make what only       an arc keeps may differ, and the
//	  fstepsnormalize and         ε-arcs of it lead to an end of      order of equally good paths
//	  fstshortestpath --unique    weight 1̄
//	fstpush --push_labels over  weights of 2²² and their rounding   weights stay
//	  log weights, with cycles
//	fstreplace, label 0         takes ε for calls of the root, and  leaves ε alone
//	                              of rules when it looks for
//	                              circles
//	fstencode --encode_reuse    leaves the mapper without the new   adds them
//	                              labels, which nothing can decode
//	labels -1 and -2 in strings stand for no string at all, in      may be an error
//	  of outputs                  fstpush --push_labels and
//	                              wherever else strings are pushed
//	composition with a label    needs the other machine sorted;     works on any; the same weight is put
//	  look-ahead type             weights that are pushed are put     and taken, so that paths have theirs
//	                              on an arc as they are and taken
//	                              off rounded to 1/1024
//	phi as ε, composed with a   counts failures as ε-moves, and     keeps all paths
//	  machine with ε              so may lose paths
//	rho files where the label   may match what nothing else does    mean nothing there
//	  means nothing (-1,          by arcs of ε
//	  input_rho as the first
//	  machine)
//	fstmap --power below 0      makes -Infinity of the weight 0̄     leaves 0̄
//	weights from 4 million      fstdeterminize and                  stay as they are: they have no finer
//	  times --delta on            fstdisambiguate add rounding        digits than --delta
//	                              errors at each step
//	weights from 10³⁸ times     fstminimize, fstdeterminize,        stay as they are
//	  --delta on                  fstdisambiguate, fstmap,
//	                              fstequivalent and fstshortestpath
//	                              --unique make them Infinity
//	weights of -0               fstencode gives them other labels   are the same as 0
//	                              than 0
//	fstdifference               fails on what it claims of its own  works
//	  --fst_verify_properties,    complement
//	  labels below -2
//	unweighted ngram files,     are refused for being marked as     work
//	  --fst_verify_properties     weighted
//	fstisomorphic               takes two states that nothing       says that they are not isomorphic,
//	                              tells apart for one                 status 2
//	fstdisambiguate             confuses states where it has pruned,  goes by the right states, so that the
//	                              or outputs are left over: two       result has one path a string, with
//	                              paths for a string, or none, or     all of its output; takes different
//	                              labels of its output lost;          tables
//	                              refuses acceptors with different
//	                              symbol tables
//	ngram machines              of 32-bit weights; whose start      of any; an error
//	                              backs off in several steps lose
//	                              the first ones, and where it
//	                              does not another is the start
//	fstcompress of several      a file that cannot be decompressed  status 1
//	  arcs with the same
//	  labels to one state
//	edit machines               lose their symbol tables; stay of   keep them; a result is a vector machine
//	                              the type when changed in place
//	--save_relabel_ipairs       pairs in the order of a hash table  in the order of labels
//	--fst_weight_parentheses    is passed over where weights have   an error
//	  of one character            one part
//	--fst_field_separator=      fstprint puts nothing between       an error
//	  (empty)                     fields, so that nothing can read
//	                              them
//	fstdraw --format=d2, of     a title in a circle; takes ${ in a  a title that is text; ${ stays, a line
//	  newer releases              symbol for a variable; leaves a     break is a blank; --fontsize where it is
//	                              line break in it, which is an       given
//	                              error of D2; no --fontsize
//	pdtreplace                  gives parentheses labels that       an error where the input of an arc has
//	                              other arcs have; replaces them      one; they stay
//	                              where a rule has their label;
//	                              takes rules for ε
//	pdtreplace                  takes rules for linear that are     goes by what is linear, so that the
//	  --pdt_parser_type=left_sr   not, and not those that are, by     relation is that of the rules
//	                              which strings change
//
// More is accepted, which is an error there or has no meaning:
//
//	where                       OpenFst 1.7.9                       here
//	--------------------------  ----------------------------------  ----------------------------------
//	flags                       of 1.7.9                            of both generations, --flag value,
//	                                                                  --flag true and --flag false of
//	                                                                  booleans, --noflag, --flagfile, --undefok,
//	                                                                  - for _ in names of flags,
//	                                                                  --version; --help with definition,
//	                                                                  cost and an example; True, t, yes, y
//	                                                                  and the like, as newer ones do
//	arc types                   standard, log, log64                also tropical64, real64 (probability),
//	                                                                  boolean, minmax, two products, a
//	                                                                  lexicographic pair, expectation
//	linear models               second machines of fstcompose       also the first, and of any weights
//	                              alone, over standard and log
//	- or nothing as a file      fstprint makes a file called -;     a standard stream, everywhere; of
//	  name                        fstreplace and fstreweight          inputs, one
//	  cannot read -; as a table or
//	  pairs of labels, a file called -
//	fstpush of an affix or a    an error                            the machine as it is
//	  total of no path at all
//	fstinfo                     says only what the header says      also what has no exception in a
//	  --test_properties=false                                         machine without states or arcs
//	--fst_align on standard     an error                            works
//	  output
//	archives of no machine      an error, but on standard input     are taken
//	archives of several types   an error                            are read together
//	archives on standard input  are lists over tropical weights     of any weights
//	--keys                      an error in archives of type        in all archives
//	                              stlist
//	--begin_key                 an error in archives of type        in all archives; behind the last
//	                              stlist; behind the last key means   key there is nothing
//	                              the last machine
//	--file_list_input, no       takes the list for an input         reads the list
//	  output
//	archives of type fst of no  are not made                        are empty files
//	  machine
//
// Differences because the program is another:
//
//	where                       OpenFst 1.7.9                       here
//	--------------------------  ----------------------------------  ----------------------------------
//	fstrandgen --seed           its own generator                   another one: other paths, as likely
//	fstinfo                     of a result, what the operation     what it knows: of fstcompose, fstclosure,
//	  --test_properties=false     claims of it                        fstconcat, fstreverse, fstmap and of acceptors
//	                                                                  fstdeterminize more; of what is
//	                                                                  made from a const machine, of fstminimize
//	                                                                  --allow_nondet, fstpush --push_labels,
//	                                                                  fstepsnormalize and fstdisambiguate
//	                                                                  less; both true
//	messages                                                        say where, and what to do
//	standard output closed      an error if a machine is to be      /dev/null: Go opens it there before main
//	  before the start            written, status 0 if text is        runs, for reading and writing, just as
//	                                                                  Python's subprocess.DEVNULL and daemons
//	                                                                  do, whose results are to be dropped
//	address space bounded by    works from 50 MB on; an error       works from 800 MB on: Go reserves
//	  ulimit -v                   where it is used up                 as much at the start, and uses a
//	                                                                  few; where it is used up, a trace
//	                                                                  and status 2, unless --limit_bytes
//	                                                                  ends the work before
//
// All types of machines in files are read by every tool and written by fstconvert and fstcompile
// (fstlinear writes linear-tagger and linear-classifier). These are vector, const and compact with
// any size of offsets, edit, ngram and the look-ahead types. Of the newest OpenFst phi, rho and
// sigma (fstspecial) are supported; compose gives their labels their special meaning. Weights of
// arc type boolean, which OpenFst does not have, are one byte in all types.
//
// Composition with a file of a look-ahead type looks ahead, and pushes weights and labels, as
// OpenFst's does.
//
// Beyond OpenFst's tools there are four. fst run runs pipelines of tools in one process. fst check
// tests the laws on a machine. fst draw --format=svg draws pictures without other programs. fst
// compose has --first_matcher, --second_matcher and --lookahead.
//
// Flags on how OpenFst stores its machines (--tmpdir, --fst_default_cache_gc,
// --fst_default_cache_gc_limit, --path_gc) are accepted and have no effect; help says why.
// --fst_read_mode=map has an effect: const machines are used where they are in their file.
//
// The arc types are standard (tropical weights), log, log64, tropical64, real64 (or probability),
// boolean, minmax, tropical_X_tropical and tropical_X_log (products), tropical_LT_tropical
// (lexicographic) and expectation_real64_real64 (or expectation). Weights of real64 and expectation
// are compared by factors: --delta is how far a factor may exceed 1. In determinize, disambiguate
// and minimize it defaults to 1e-9. (Values of an expectation are compared by differences.)
//
// The tools are thin. main.go finds the tool, library.go has the common flags, and io.go reads and
// writes. Package suite erases the weight type, with one suite for each set of capabilities, so
// that a tool whose weights lack the algebra says so. The other files hold the tools.
//
// Before it does anything the program has 8.5 MB resident. Type descriptors, interface tables and
// strings take 3.7, code 1.9, the runtime's tables of functions 1.4, heap and stacks 1.3. Each page
// touched brings in its neighbors within 64 KiB. Packages regexp and crypto/sha256 are avoided,
// since what they initialize is code, tables and heap of every call: with them it had 9.7. Most of
// the rest is the runtime registering some 580 interface tables at start, of types scattered over
// 3.6 MB. A third of these are names and types of string weights (Gallic), instantiated for each
// arc type.
package main
