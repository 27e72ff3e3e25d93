#include "store/memory.hpp"
