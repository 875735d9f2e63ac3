#include "conformance/lock_test.h"
