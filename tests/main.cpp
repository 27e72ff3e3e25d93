// The main() of every test program. Boost.Test writes it wherever BOOST_TEST_MODULE is defined: here and nowhere else.
#define BOOST_TEST_MODULE berth
#include <boost/test/unit_test.hpp>
