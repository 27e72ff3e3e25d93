// Nothing but the precompiled header, which all tests reuse: main.cpp must include Boost.Test itself.
