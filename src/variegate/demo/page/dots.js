/** Thousands of dots on a canvas: as elements they would make the page slow. */

const RADIUS = 3;

/** Draw every item of the catalogue's map; `spot` says where, `colourOf` in what colour. */
export function drawDots(canvas, { width, height }, { group, ids }, spot, colourOf) {
  const sharpness = devicePixelRatio || 1;
  canvas.width = Math.round(width * sharpness);
  canvas.height = Math.round(height * sharpness);
  const brush = canvas.getContext("2d");
  brush.scale(sharpness, sharpness);
  brush.globalAlpha = 0.55;
  const colours = new Map();
  ids.forEach((_, index) => {
    const colour = colourOf(group[index]);
    if (!colours.has(colour)) colours.set(colour, resolved(canvas, colour));
    brush.fillStyle = colours.get(colour);
    brush.beginPath();
    brush.arc(...spot(index), RADIUS, 0, 2 * Math.PI);
    brush.fill();
  });
}

/** Return the index of the spot that is nearest to a place, or null where none is near. */
export function nearest(count, spot, [x, y], most) {
  let best = null;
  let least = most * most;
  for (let index = 0; index < count; index += 1) {
    const [px, py] = spot(index);
    const far = (px - x) ** 2 + (py - y) ** 2;
    if (far < least) [best, least] = [index, far];
  }
  return best;
}

/** Return a colour as a canvas takes it, which knows no custom properties. */
function resolved(canvas, colour) {
  canvas.style.setProperty("color", colour);
  return getComputedStyle(canvas).color;
}
