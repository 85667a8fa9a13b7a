#include "CEmisoraCurl.h"
