# Sourced by tools/check: how many test cases passed and failed.

# count_cases LOG: prints `PASSED FAILED`, summed over ctest's log of a run. A Boost.Test program reports its own
# cases (BOOST_TEST_REPORT_LEVEL=short); what reports none, because it is no such program or died, is one case.
count_cases() {
  [[ -r $1 ]] || {
    echo 0 0
    return
  }
  awk '
    function close_test(ok) {
      if (ok && p + f == 0) p = 1
      if (!ok && f == 0) f = 1
      passed += p; failed += f; p = f = 0
    }
    /^Unable to find executable: /                        { missing = 1 }
    / test cases? out of [0-9]+ passed( with warnings)?$/ { p += $1 }
    / test cases? out of [0-9]+ failed$/                  { f += $1 }
    /^Test Passed\.$/                                     { close_test(!missing); missing = 0 }
    /^Test Failed\.$/                                     { close_test(0); missing = 0 }
    END { print passed + 0, failed + 0 }
  ' "$1"
}
