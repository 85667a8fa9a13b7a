#include "CEmisoraSRTP.h"
