package table

import (
	"strconv"
	"strings"
)

// The orders of year, month and day in dates.
const (
	ymd = "ymd"
	dmy = "dmy"
	mdy = "mdy"
)

// parseDate reads a date, perhaps with a time of day, as days since 1970-01-01. It takes
//
//	2024-03-31  2024/3/31  2024-03       year first, in any order asked for
//	31.03.2024  3/31/24                  in the order asked for; two digits are a year of 1969 to 2068
//	31 Mar 2024  March 31, 2024          months by their English names
//	2024-03-31T18:45:00Z  18:45  6:45 PM
//
// A time zone is taken off: times are those of Greenwich. A time alone is a fraction of a day.
func parseDate(s, order string) (days float64, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) < 4 || len(s) > 48 || order == "" {
		return 0, false
	}
	date, clock := s, ""
	if colon := strings.IndexByte(s, ':'); colon >= 0 {
		cut := strings.LastIndexAny(s[:colon], " T")
		date, clock = "", s
		if cut >= 0 {
			date, clock = strings.TrimSpace(s[:cut]), s[cut+1:]
		}
	}
	fraction := 0.0
	if clock != "" {
		if fraction, ok = parseClock(clock); !ok {
			return 0, false
		}
		if date == "" {
			return fraction, true
		}
	}
	year, month, day, ok := parseDay(date, order)
	if !ok || month < 1 || month > 12 || day < 1 || day > monthDays(year, month) {
		return 0, false
	}
	return float64(daysFromCivil(year, month, day)) + fraction, true
}

// parseDay reads year, month and day.
func parseDay(s, order string) (year, month, day int, ok bool) {
	parts := strings.FieldsFunc(
		s, func(c rune) bool { return c == '-' || c == '/' || c == '.' || c == ' ' || c == ',' })
	var marks []byte // between the parts, one of a kind
	for i := range len(s) {
		if c := s[i]; !isAlnum(rune(c)) && (len(marks) == 0 || marks[len(marks)-1] != c) {
			marks = append(marks, c)
		}
	}
	if len(parts) < 2 || len(parts) > 3 || !isAlnum(rune(s[0])) || !isAlnum(rune(s[len(s)-1])) {
		return 0, 0, 0, false
	}
	named := -1
	for i, p := range parts {
		if m := monthNamed(p); m > 0 && named < 0 {
			named, month = i, m
		}
	}
	if named >= 0 {
		if len(parts) != 3 {
			return 0, 0, 0, false
		}
		rest := append(append([]string{}, parts[:named]...), parts[named+1:]...)
		if named == 1 && len(rest[0]) == 4 { // 2024-Mar-31
			rest[0], rest[1] = rest[1], rest[0]
		}
		day, ok = digits(rest[0], 1, 2)
		if ok {
			year, ok = yearOf(rest[1])
		}
		return year, month, day, ok
	}
	if len(marks) != 1 || marks[0] == ' ' || marks[0] == ',' {
		return 0, 0, 0, false
	}
	if len(parts) == 2 { // 2024-03
		if len(parts[0]) != 4 || len(parts[1]) != 2 || marks[0] == '.' {
			return 0, 0, 0, false
		}
		year, ok = digits(parts[0], 4, 4)
		if ok {
			month, ok = digits(parts[1], 2, 2)
		}
		return year, month, 1, ok
	}
	if len(parts[0]) == 4 {
		order = ymd
	}
	at := map[string][3]int{ymd: {0, 1, 2}, dmy: {2, 1, 0}, mdy: {2, 0, 1}}[order]
	if year, ok = yearOf(parts[at[0]]); !ok {
		return 0, 0, 0, false
	}
	least := 1
	if marks[0] == '.' && len(parts[at[0]]) == 2 { // 1.2.10 is a version
		least = 2
	}
	if month, ok = digits(parts[at[1]], least, 2); ok {
		day, ok = digits(parts[at[2]], least, 2)
	}
	return year, month, day, ok
}

// parseClock reads a time of day as a fraction of a day, its zone taken off.
func parseClock(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	zone := 0.0
	upper := strings.ToUpper(s)
	half := -1
	switch {
	case strings.HasSuffix(upper, "Z"):
		s = s[:len(s)-1]
	case strings.HasSuffix(upper, "AM"):
		s, half = strings.TrimSpace(s[:len(s)-2]), 0
	case strings.HasSuffix(upper, "PM"):
		s, half = strings.TrimSpace(s[:len(s)-2]), 1
	default:
		if i := strings.LastIndexAny(s, "+-"); i > 0 {
			z := strings.Replace(s[i+1:], ":", "", 1)
			hours, ok := digits(z, 4, 4)
			if !ok || hours/100 > 14 || hours%100 > 59 {
				return 0, false
			}
			zone = float64(hours/100*60+hours%100) / (24 * 60)
			if s[i] == '-' {
				zone = -zone
			}
			s = strings.TrimSpace(s[:i])
		}
	}
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false
	}
	hour, ok := digits(parts[0], 1, 2)
	minute, fine := digits(parts[1], 2, 2)
	if !ok || !fine || hour > 23 || minute > 59 || half >= 0 && (hour < 1 || hour > 12) {
		return 0, false
	}
	if half >= 0 {
		hour = hour%12 + 12*half
	}
	second := 0.0
	if len(parts) == 3 {
		whole, fraction, _ := strings.Cut(parts[2], ".")
		n, ok := digits(whole, 2, 2)
		if !ok || n > 60 {
			return 0, false
		}
		second = float64(n)
		if fraction != "" {
			f, ok := digits(fraction, 1, 9)
			if !ok {
				return 0, false
			}
			scale := 1.0
			for range fraction {
				scale *= 10
			}
			second += float64(f) / scale
		}
	}
	return (float64(hour*3600+minute*60)+second)/86400 - zone, true
}

func isAlnum(c rune) bool { return c-'0' <= 9 && c >= '0' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// digits reads a number of least to most digits and nothing else.
func digits(s string, least, most int) (int, bool) {
	if len(s) < least || len(s) > most {
		return 0, false
	}
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

func yearOf(s string) (int, bool) {
	if len(s) == 2 {
		y, ok := digits(s, 2, 2)
		if y < 69 { // as POSIX has it
			y += 100
		}
		return 1900 + y, ok
	}
	y, ok := digits(s, 4, 4)
	return y, ok && y > 0
}

var monthNames = []string{"january", "february", "march", "april", "may", "june", "july", "august",
	"september", "october", "november", "december"}

// monthNamed returns the number of a month by its English name or the first three letters
// of it; 0 for anything else.
func monthNamed(s string) int {
	s = strings.ToLower(s)
	for i, m := range monthNames {
		if s == m || len(s) == 3 && s == m[:3] || s == "sept" && i == 8 {
			return i + 1
		}
	}
	return 0
}

func monthDays(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysFromCivil counts the days from 1970-01-01 in the Gregorian calendar.
func daysFromCivil(year, month, day int) int {
	if month <= 2 {
		year--
		month += 12
	}
	// The days of whole years from 1 March of the year 0, and of whole months from March on.
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468
}
