// Package table holds rows of features, what is to be predicted from them, and
// where they come from; and reads them.
//
// A Table has Columns of float32, numeric (NaN is missing) or categorical (the index
// of a level); perhaps a Target (an index of Classes, or a number), a Source (the
// domain of each row, an index of Sources) and a Weight. Read and Open take CSV, TSV,
// LIBSVM and IDX, compressed with gzip or not; Options name the columns by name or by
// place. To read data that a model is to judge, give the training table (or its
// Schema) as Options.Like: columns are then found by name and put in its order.
//
//	t, err := table.Read(r, "adult.csv", &table.Options{Target: "income", Source: "education"})
//	new, err := table.Read(r, "new.csv", &table.Options{Like: t.Schema()})
//
// # What may be relied on
//
//   - Every slice of a table that is not nil has Rows entries; values are finite or
//     NaN, targets and weights finite, weights not negative, and there are rows.
//   - Numbers are the nearest float32 (targets and weights: float64) of what is
//     written.
//   - Levels, classes and sources are sorted: as numbers if they all are, else by
//     their bytes. Classes that are equal as numbers (1, +1, 1.0) are one.
//   - Nothing depends on the number of workers: not the table, not the errors, of
//     which the first in the input is given.
//   - Errors are *Error with file, line, row, column and what would help; Warnings has
//     what is odd but can be used: constant columns, levels unseen in training,
//     identifiers, integers that are taken for classes, a header of numbers.
//   - Input is bounded by Options.MaxCells, MaxRecord, MaxLevels and, if they are set,
//     MaxRows and MaxBytes; memory grows with what was read, not with what a header
//     promises.
//
// # What a column is
//
// The first 1000 rows decide, at most 1 MiB of them. A column whose values are all
// numbers is numeric, and a word in it later is an error, as it is where most values
// are numbers: guessing that such a column is categorical would turn every mistyped
// number into a level. List it in Options.Categorical if it is. A column with mostly
// words is categorical, and then takes anything.
//
// Words that are numbers or dates once marks are taken away (1,234 1,5 $12 45% 31.12.2024) are an
// error too. It names in Error.Fixes the fields of Options that read them: Decimal, Thousands,
// Symbols, Dates. Table.Reading has what was in force, and Like applies it to tables to come.
// Columns of Options.ID are no features; Table.ID has their texts.
//
// # Sparse tables
//
// A LIBSVM file of many cells and few entries stays sparse: Table.Sparse has the entries, column
// by column, and Columns have names only. Learners on histograms take both forms and give the
// same model. Others call Table.Dense, which is an error where that would take too much memory.
// The whole table is one or the other: a mixture would have every learner handle both
// in one loop, for a few frequent words.
//
// # Splits
//
// Stratified makes folds for cross-validation, with classes and sources in
// proportion. MakeTrials and MakeSourceFolds make them by the rule of the recorded
// experiments, which draws as Python's random.Random does; ReadTrials and
// ReadSourceSplits read their files.
//
// # How it is read
//
// Blocks of 1 MiB are cut at the ends of records (an even number of quotes before the
// newline) by the caller's goroutine, parsed by workers and joined in order, so that
// neither the text nor a string for each field is ever kept. A number is scanned once,
// its digits as an integer; one division gives it but for one in fifty million, which
// strconv judges.
package table
